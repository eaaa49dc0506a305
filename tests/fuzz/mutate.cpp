#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace rodeo::fuzz {
namespace {

void change_byte(std::string& bytes, Draws& draws) {
  const std::uint64_t at = draws.below(bytes.size()), room = bytes.size() - at;
  switch (draws.below(8)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << draws.below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(draws.below(256));
      break;
    case 2:
      std::memset(&bytes[at], draws.below(2) ? 0xff : 0, std::min<std::uint64_t>(room, 1 + draws.below(16)));
      break;
    case 3: {
      const std::uint64_t from = draws.below(bytes.size());
      const std::uint64_t n = std::min({room, std::uint64_t{bytes.size()} - from, 1 + draws.below(64)});
      std::memmove(&bytes[at], &bytes[from], n);
      break;
    }
    case 4: {
      constexpr std::int64_t kBoundary[] = {-1,           0,         1,        2147483647, -2147483648LL,
                                            4294967296LL, 1LL << 40, 1LL << 62};
      const std::int64_t value = kBoundary[draws.below(8)];
      std::memcpy(&bytes[at], &value, std::min<std::uint64_t>(room, 1u << draws.below(4)));
      break;
    }
    case 5:  // add -4 .. 4
      bytes[at] = static_cast<char>(bytes[at] + static_cast<char>(draws.below(9)) - 4);
      break;
    case 6:
      if (draws.once_in(8)) bytes.resize(at);
      break;
    default:
      std::swap(bytes[at], bytes[draws.below(bytes.size())]);
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

/// Replaces one of the numbers of a text.
void change_number(std::string& text, Draws& draws) {
  static const std::vector<std::string> kNumbers{
      "0",   "-1",  "1",    "2",    "4294967296", "2147483647", "2147483648", "9223372036854775807",
      "nan", "NaN", "inf",  "-inf", "1e308",      "1e999",      "-0",         "99999999999999999999999",
      "0x7", "1.5", "1e-9", "",     "null",       "true",       "\"7\"",      "[[[[1]]]]",
      "{}",  "007"};
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (is_digit(text[i]) && (i == 0 || !is_digit(text[i - 1]))) starts.push_back(i);
  if (starts.empty()) return;
  const std::size_t begin = draws.of(starts);
  std::size_t end = begin;
  while (end < text.size() && is_digit(text[end])) ++end;
  text.replace(begin, end - begin, draws.of(kNumbers));
}

}  // namespace

std::string mutate_bytes(std::string bytes, Draws& draws) {
  const std::uint64_t changes = 1 + draws.below(6);
  for (std::uint64_t k = 0; k < changes && !bytes.empty(); ++k) change_byte(bytes, draws);
  return bytes;
}

std::string mutate_text(const std::string& text, Draws& draws) {
  std::vector<std::string> lines = lines_of(text);
  const std::uint64_t changes = 1 + draws.below(4);
  for (std::uint64_t k = 0; k < changes && !lines.empty(); ++k) {
    const std::size_t at = draws.below(lines.size());
    const auto line = lines.begin() + static_cast<std::ptrdiff_t>(at);
    switch (draws.below(8)) {
      case 0:
        lines.erase(line);
        break;
      case 1:
        lines.insert(line, std::string(*line));
        break;
      case 2:
        std::swap(*line, lines[draws.below(lines.size())]);
        break;
      case 3:
        line->resize(draws.below(line->size()));
        break;
      case 4:
        if (draws.once_in(4)) lines.resize(at);
        break;
      default:
        change_number(*line, draws);
    }
  }
  std::string out;
  for (const std::string& line : lines) out += line;
  return draws.once_in(4) ? mutate_bytes(out, draws) : out;
}

}  // namespace rodeo::fuzz
