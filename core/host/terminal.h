/// What the commands know of the terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rodeo {

/// Columns of the terminal on stdout: the variable COLUMNS, else what the terminal says now, else `fallback`.
int terminal_width(int fallback);

/// The width of help texts: that of the terminal, 40 to 110; 110 if stdout is none.
int help_width();

/// Whether stdout is a terminal on which a line can be rewritten: TERM is set, and is not "dumb".
bool has_live_terminal();

/// Whether to write colours to a file descriptor: it is a terminal, TERM is not "dumb", and NO_COLOR
/// (no-color.org) is unset or empty.
bool has_colours(int file);

enum class Colour { kRed = 31, kGreen = 32, kDim = 2 };
/// `text` with colour codes if `on`.
std::string paint(bool on, Colour colour, std::string_view text);

/// `text` in lines of at most `width` columns, broken at blanks; lines after the first begin with `indent`
/// blanks. Line breaks of the text stay.
std::string wrap(std::string_view text, int width, int indent = 0);

/// The choice that differs from `word` in the fewest letters, at most two and less than half of them, or that
/// begins with it; "" if there is none.
std::string closest(std::string_view word, const std::vector<std::string>& choices);

/// Throws Error for an argument such as -epochs, which would be read as the options -e, -p, -o and so on.
void check_dashes(int argc, const char* const* argv);

}  // namespace rodeo
