#include "core/host/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "core/error.h"

namespace rodeo {
namespace {

/// Columns of valid UTF-8, one for each character.
int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Inserted, removed, replaced and swapped letters.
int distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = static_cast<int>(i + j);
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

int terminal_width(int fallback) {
  constexpr int kMost = 1000;
  if (const char* columns = std::getenv("COLUMNS")) {
    const std::string_view text = columns;
    int width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error == std::errc{} && end == text.data() + text.size() && width > 0 && width <= kMost) return width;
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<int>(size.ws_col, kMost);
  return fallback;
}

int help_width() {
  constexpr int kMost = 110, kLeast = 40;
  return std::clamp(terminal_width(kMost), kLeast, kMost);
}

bool has_live_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && term && *term && std::string_view(term) != "dumb";
}

bool has_colours(int file) {
  const char *term = std::getenv("TERM"), *refused = std::getenv("NO_COLOR");
  return ::isatty(file) == 1 && (!refused || !*refused) && term && std::string_view(term) != "dumb";
}

std::string paint(bool on, Colour colour, std::string_view text) {
  return on ? str("\x1b[", static_cast<int>(colour), "m", text, "\x1b[0m") : std::string(text);
}

std::string wrap(std::string_view text, int width, int indent) {
  std::string out;
  int column = 0;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, end);
    if (!word.empty()) {
      const int wide = columns_of(word);
      if (!first && column + 1 + wide > width) {
        out += '\n' + std::string(static_cast<std::size_t>(indent), ' ');
        column = indent;
      } else if (!first) {
        out += ' ';
        ++column;
      }
      out += word;
      column += wide;
      first = false;
    }
    if (end == std::string_view::npos) break;
    if (text[end] == '\n') {
      out += '\n';
      if (end + 1 < text.size()) out += std::string(static_cast<std::size_t>(indent), ' ');
      column = indent;
      first = true;
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string closest(std::string_view word, const std::vector<std::string>& choices) {
  constexpr std::size_t kShortest = 2;
  if (word.size() < kShortest) return "";
  std::string best, begins;
  int least = 3, beginnings = 0;
  for (const std::string& choice : choices) {
    if (choice.starts_with(word)) begins = choice, ++beginnings;
    const int d = distance(word, choice);
    if (d < least && 2 * d < static_cast<int>(choice.size())) least = d, best = choice;
  }
  return least <= 1 || beginnings != 1 ? best : begins;
}

void check_dashes(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view argument = argv[i];
    const bool one = argument.size() > 2 && argument[0] == '-' &&
                     std::isalpha(static_cast<unsigned char>(argument[1])) != 0;
    check(!one, "unknown option '", argument, "': names of options begin with two dashes, -", argument);
  }
}

}  // namespace rodeo
