#include "train/task/fanout.h"

#include <charconv>

#include "core/error.h"

namespace rodeo {

std::vector<std::int64_t> parse_fanout(const std::string& text, int layers, bool replace) {
  constexpr std::int64_t kDefault = 10;
  if (text.empty()) return std::vector<std::int64_t>(static_cast<std::size_t>(layers), kDefault);
  std::vector<std::int64_t> fanout;
  const char *at = text.data(), *end = at + text.size();
  while (at <= end) {
    const auto [stop, error] = std::from_chars(at, end, fanout.emplace_back());
    const bool ends = stop == end || *stop == ',';
    check(error == std::errc{} && ends && (fanout.back() > 0 || (fanout.back() == -1 && !replace)),
          "--fanout must be positive numbers, or -1 for all neighbours (not with --replace), got '", text,
          "'");
    at = stop + 1;
  }
  check(std::ssize(fanout) == layers, "--fanout needs a number for each of the ", layers, " layers, got '",
        text, "'");
  return fanout;
}

}  // namespace rodeo
