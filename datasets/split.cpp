#include "datasets/split.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "core/random.h"

namespace rodeo {
namespace {

constexpr std::uint64_t kStream = 0x73706c6974;  // "split": a random stream of its own

/// Percentages, also of a text in fractions.
std::array<double, 3> parse_percents(const std::string& text) {
  constexpr double kRounding = 1e-9;
  std::array<double, 3> percents{};
  const char *at = text.data(), *end = at + text.size();
  double sum = 0;
  bool ok = true;
  for (int i = 0; i < 3 && ok; ++i) {
    const auto [next, error] = std::from_chars(at, end, percents[i], std::chars_format::fixed);
    ok = error == std::errc{} && percents[i] >= 0 && (i == 2 ? next == end : next != end && *next == '/');
    at = ok && i < 2 ? next + 1 : next;
    sum += percents[i];
  }
  const bool fractions = sum > 0 && sum <= 1 + kRounding;
  check(
      ok && (fractions || std::abs(sum - 100) <= kRounding),
      "split must be percentages train/val/test that sum to 100, such as 60/20/20, or fractions of at most 1 "
      "together, such as 0.6/0.2/0.2, got '",
      text, "'");
  if (fractions)
    for (double& part : percents) part *= 100;
  return percents;
}

// Several labels of a node are all known; of targets, some may be.
bool is_labelled(const Tensor& y, std::int64_t node) {
  if (y.rank() == 1) return y.data<std::int64_t>()[node] >= 0;
  if (y.dtype() != DType::kF32) return true;
  const auto* target = y.data<float>() + node * y.dim(1);
  return !std::all_of(target, target + y.dim(1), [](float value) { return std::isnan(value); });
}

// The labelled nodes, in a random order.
std::vector<std::int64_t> random_order(const Tensor& y, std::uint64_t seed) {
  std::vector<std::int64_t> nodes;
  for (std::int64_t i = 0; i < y.dim(0); ++i)
    if (is_labelled(y, i)) nodes.push_back(i);
  return shuffled(nodes, seed, kStream);
}

Tensor ascending(std::vector<std::int64_t> nodes) {
  std::sort(nodes.begin(), nodes.end());
  return Tensor::from(nodes);
}

constexpr std::string_view kPerClass = "class:";

/// "class:20/500/1000" and "class:20/500/1000@123"
Split split_per_class(const Tensor& y, const std::string& parts, std::uint64_t seed) {
  const std::size_t sign = parts.find('@');
  std::array<std::int64_t, 3> count{};
  const char* at = parts.data() + kPerClass.size();
  const char* const end = parts.data() + std::min(sign, parts.size());
  bool valid = true;
  for (std::size_t i = 0; i < 3 && valid; ++i) {
    if (i > 0) valid = at < end && *at++ == '/';
    const auto [next, error] = std::from_chars(at, end, count[i]);
    valid = valid && error == std::errc{} && count[i] >= 1;
    at = next;
  }
  check(valid && at == end, "split '", parts,
        "' must be class:N/A/B, three numbers of at least 1: N training nodes of each class, then A to "
        "validate and B to test on, such as class:20/500/1000");
  check(y.rank() == 1, "split ", parts, " is for one label per node, and y is ", y.shape());
  std::int64_t classes = 0;
  for (std::int64_t i = 0; i < y.numel(); ++i) classes = std::max(classes, y.data<std::int64_t>()[i] + 1);
  if (sign == std::string::npos) return planetoid_split(y, classes, count[0], count[1], count[2], seed);
  std::uint32_t fixed = 0;
  const char* const last = parts.data() + parts.size();
  const auto [next, error] = std::from_chars(end + 1, last, fixed);
  check(error == std::errc{} && next == last, "split '", parts,
        "': after @ expected a seed from 0 to 4294967295, such as class:20/500/1000@123");
  return torch_split(y, classes, count[0], count[1], count[2], fixed);
}

void check_enough(std::int64_t label, std::int64_t have, std::int64_t train_per_class) {
  check(have >= train_per_class, "split: class ", label, " has ", have, " nodes, fewer than the ",
        train_per_class, " to train on: give percentages such as 60/20/20");
}

/// The first `val` nodes of `rest` and the `test` after them, beside `train`.
Split with_rest(std::vector<std::int64_t> train, const std::vector<std::int64_t>& rest, std::int64_t val,
                std::int64_t test) {
  check(val + test <= std::ssize(rest), "split: ", val, " + ", test,
        " nodes to validate and test on are more than the ", rest.size(),
        " left: give percentages such as 60/20/20");
  const auto middle = rest.begin() + val;
  return {ascending(std::move(train)), ascending({rest.begin(), middle}), ascending({middle, middle + test})};
}

/// Permutes as torch.randperm does: position i changes places with one of those from i on.
void permute(std::vector<std::int64_t>& nodes, std::mt19937& random) {
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i)
    std::swap(nodes[i], nodes[i + random() % (nodes.size() - i)]);
}

}  // namespace

std::vector<std::int64_t> shuffled(const std::vector<std::int64_t>& ids, std::uint64_t seed,
                                   std::uint64_t stream) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> keyed;
  keyed.reserve(ids.size());
  for (const std::int64_t id : ids) {
    const Philox4 random = philox(seed, stream, static_cast<std::uint64_t>(id));
    keyed.emplace_back(std::uint64_t{random.word[0]} << 32 | random.word[1], id);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::int64_t> out;
  out.reserve(ids.size());
  for (const auto& [key, id] : keyed) out.push_back(id);
  return out;
}

Split random_split(const Tensor& y, const std::string& parts, std::uint64_t seed) {
  if (parts.starts_with(kPerClass)) return split_per_class(y, parts, seed);
  const std::array<double, 3> percents = parse_percents(parts);
  const std::vector<std::int64_t> order = random_order(y, seed);
  double percent = 0;
  auto begin = order.begin();
  const auto next = [&](double part) {
    percent += part;
    const double place = std::round(static_cast<double>(order.size()) * std::min(percent, 100.0) / 100);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(place);
    return ascending({std::exchange(begin, end), end});
  };
  return {next(percents[0]), next(percents[1]), next(percents[2])};
}

Split planetoid_split(const Tensor& y, std::int64_t num_classes, std::int64_t train_per_class,
                      std::int64_t val, std::int64_t test, std::uint64_t seed) {
  check(y.defined() && y.rank() == 1 && y.dtype() == DType::kI64, "split: y must be i64 [nodes]");
  const auto* label = y.data<std::int64_t>();
  std::vector<std::int64_t> missing(static_cast<std::size_t>(num_classes), train_per_class), train, rest;
  for (const std::int64_t node : random_order(y, seed)) {
    check(label[node] < num_classes, "split: y[", node, "] = ", label[node], " is outside [0, ", num_classes,
          ")");
    const bool wanted = missing[label[node]] > 0;
    missing[label[node]] -= wanted;
    (wanted ? train : rest).push_back(node);
  }
  for (std::int64_t c = 0; c < num_classes; ++c)
    check_enough(c, train_per_class - missing[c], train_per_class);
  return with_rest(std::move(train), rest, val, test);
}

Split torch_split(const Tensor& y, std::int64_t num_classes, std::int64_t train_per_class, std::int64_t val,
                  std::int64_t test, std::uint64_t seed) {
  check(y.defined() && y.rank() == 1 && y.dtype() == DType::kI64, "split: y must be i64 [nodes]");
  check(seed <= std::numeric_limits<std::uint32_t>::max(), "split: seed must be below 2^32, got ", seed);
  const auto* label = y.data<std::int64_t>();
  std::vector<std::vector<std::int64_t>> nodes(static_cast<std::size_t>(num_classes));
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    check(label[i] < num_classes, "split: y[", i, "] = ", label[i], " is outside [0, ", num_classes, ")");
    if (label[i] >= 0) nodes[static_cast<std::size_t>(label[i])].push_back(i);
  }
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  std::vector<std::int64_t> train, rest;
  for (std::size_t c = 0; c < nodes.size(); ++c) {
    check_enough(static_cast<std::int64_t>(c), std::ssize(nodes[c]), train_per_class);
    permute(nodes[c], random);
    const auto middle = nodes[c].begin() + train_per_class;
    train.insert(train.end(), nodes[c].begin(), middle);
    rest.insert(rest.end(), middle, nodes[c].end());
  }
  permute(rest, random);
  return with_rest(std::move(train), rest, val, test);
}

}  // namespace rodeo
