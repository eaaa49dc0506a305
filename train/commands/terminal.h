/// Colours on terminals.
#pragma once

#include <string>
#include <string_view>

namespace rodeo {

/// Whether to write colours to a file descriptor: it is a terminal, TERM is not "dumb", and NO_COLOR
/// (no-color.org) is unset or empty.
bool has_colours(int file);

enum class Colour { kRed = 31, kGreen = 32, kDim = 2 };
/// `text` with colour codes if `on`.
std::string paint(bool on, Colour colour, std::string_view text);

}  // namespace rodeo
