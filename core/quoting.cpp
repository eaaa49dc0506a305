#include "core/quoting.h"

#include <cstdint>
#include <cstdio>

namespace rodeo {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // false: one byte that is not UTF-8
};

/// The character at the beginning of `text`, which is not empty.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {first};
  std::uint32_t code = first & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {first};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {first};
  return {code, bytes, true};
}

/// Control characters, and characters that hide or reorder others.
bool is_deceptive(std::uint32_t code) {
  const auto within = [&](std::uint32_t low, std::uint32_t high) { return code >= low && code <= high; };
  return code < 0x20 || within(0x7f, 0x9f) || code == 0x61c || code == 0x200b || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2060, 0x206f) || code == 0xfeff || within(0xfff9, 0xfffb) ||
         within(0xe0000, 0xe007f);
}

std::string hex(const char* format, std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, format, static_cast<unsigned>(value));
  return text;
}

/// `text` with `write(character, its bytes)` for each character.
template <class Write>
std::string rewrite(std::string_view text, Write&& write) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = decode(text);
    out += write(c, text.substr(0, c.bytes));
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string json_escape(std::uint32_t code) {
  if (code < 0x10000) return hex("\\u%04x", code);
  code -= 0x10000;
  return hex("\\u%04x", 0xd800 + (code >> 10)) + hex("\\u%04x", 0xdc00 + (code & 0x3ff));
}

}  // namespace

std::string printable(std::string_view text) {
  return rewrite(text, [](const Character& c, std::string_view bytes) {
    if (!c.valid) return hex("\\x%02x", c.code);
    if (!is_deceptive(c.code)) return std::string(bytes);
    if (c.code == '\n') return std::string("\\n");
    if (c.code == '\r') return std::string("\\r");
    if (c.code == '\t') return std::string("\\t");
    return c.code < 0x80 ? hex("\\x%02x", c.code) : hex("\\u{%x}", c.code);
  });
}

std::string csv_field(std::string_view text) {
  const std::string line = printable(text);
  const bool blanks = !line.empty() && (line.front() == ' ' || line.back() == ' ');
  if (!blanks && line.find_first_of(",\"") == std::string::npos) return line;
  std::string out = "\"";
  for (const char c : line) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string json_string(std::string_view text) {
  return '"' +
         rewrite(text,
                 [](const Character& c, std::string_view bytes) {
                   if (!c.valid) return json_escape(0xfffd);
                   if (c.code == '"' || c.code == '\\') return '\\' + std::string(bytes);
                   return is_deceptive(c.code) ? json_escape(c.code) : std::string(bytes);
                 }) +
         '"';
}

std::string json_printable(std::string_view json) {
  return rewrite(json, [](const Character& c, std::string_view bytes) {
    // Line breaks and tabs are layout here: within a JSON string they are always escaped.
    const bool kept = c.code == '\n' || c.code == '\t' || !is_deceptive(c.code);
    return c.valid && !kept ? json_escape(c.code) : std::string(bytes);
  });
}

std::string html_text(std::string_view text) {
  return rewrite(text, [](const Character& c, std::string_view bytes) {
    if (c.valid && c.code == '\n') return std::string("\n");
    switch (c.valid ? c.code : 0) {
      case '<':
        return std::string("&lt;");
      case '>':
        return std::string("&gt;");
      case '&':
        return std::string("&amp;");
      case '"':
        return std::string("&quot;");
      case '\'':
        return std::string("&#39;");
      default:
        return printable(bytes);
    }
  });
}

}  // namespace rodeo
