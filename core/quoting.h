/// Text of others for output: names and values from files, paths, messages of libraries. Each kind of output
/// has one function. None of them writes a control character, a byte that is not UTF-8, or a character that
/// hides or reorders text (line separators, bidirectional controls, zero-width space): these become escapes.
#pragma once

#include <string>
#include <string_view>

namespace rodeo {

/// One line for a terminal, a log or a table. Escapes are \n, \r, \t, \x1b for a byte and \u{202e} for a
/// character. Everything else, also a backslash, stays as it is, so applying it twice changes nothing.
std::string printable(std::string_view text);

/// A field of a CSV file (RFC 4180): printable(), in quotes if it has a comma, a quote or outer blanks.
std::string csv_field(std::string_view text);

/// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// JSON text with the characters that need it written as \u202e. `json` is valid JSON; so is the result, with
/// the same value.
std::string json_printable(std::string_view json);

/// Text of an HTML or SVG element or attribute: printable() for each line, with entities for <, >, &, " and
/// '.
std::string html_text(std::string_view text);

}  // namespace rodeo
