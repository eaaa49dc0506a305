#include "train/commands/terminal.h"

#include <unistd.h>

#include <cstdlib>

#include "core/error.h"

namespace rodeo {

bool has_colours(int file) {
  const char *term = std::getenv("TERM"), *refused = std::getenv("NO_COLOR");
  return ::isatty(file) == 1 && (!refused || !*refused) && term && std::string_view(term) != "dumb";
}

std::string paint(bool on, Colour colour, std::string_view text) {
  return on ? str("\x1b[", static_cast<int>(colour), "m", text, "\x1b[0m") : std::string(text);
}

}  // namespace rodeo
