#include "train/task/label_checks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::int64_t kFewestLabelled = 20;
constexpr std::size_t kMostKinds = 50;

/// Whether each row has a single 1, and zeros. Rows of values that are not known do not count.
template <class T>
bool is_one_hot(const Tensor& label) {
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < label.dim(0); ++i) {
    const T *row = label.data<T>() + i * label.dim(1), *end = row + label.dim(1);
    if (std::all_of(row, end, [](T x) { return x != T(0) && x != T(1); })) continue;
    ++rows;
    if (std::count(row, end, T(1)) != 1 || std::count(row, end, T(0)) != label.dim(1) - 1) return false;
  }
  return rows > 0;
}

/// The number of kinds of values, where these are 0, 1, ... and few; else 0.
std::size_t kinds_of(const std::vector<float>& values) {
  std::set<float> kinds;
  std::size_t known = 0;
  for (const float x : values) {
    if (std::isnan(x)) continue;
    ++known;
    if (x < 0 || x != std::floor(x) || kinds.insert(x).first == kinds.end() || kinds.size() > kMostKinds)
      return 0;
  }
  const bool in_order = !kinds.empty() && *kinds.rbegin() == static_cast<float>(kinds.size() - 1);
  return in_order && kinds.size() >= 2 && 2 * kinds.size() <= known ? kinds.size() : 0;
}

}  // namespace

std::vector<std::string> check_label_kind(const Tensor& label, std::string_view examples,
                                          std::string_view array) {
  const std::string as_classes = str(": for classes store ", array, " as integers [", examples, "]");
  if (label.dtype() == DType::kI64) {
    const auto *begin = label.data<std::int64_t>(), *end = begin + label.numel();
    const auto known = label.numel() - std::count_if(begin, end, [](std::int64_t c) { return c < 0; });
    // Classes are at most 1 + the largest. Only labels beyond that bound are worth a set, which is slow.
    if (known < kFewestLabelled || *std::max_element(begin, end) < known / 2) return {};
    std::set<std::int64_t> classes(begin, end);
    classes.erase(classes.begin(), classes.lower_bound(0));
    check(2 * std::ssize(classes) <= known, array, " has ", classes.size(), " classes among ", known, " ",
          examples,
          " with a label, fewer than two a class. Integers are classes: amounts are stored as floats [",
          examples, ", 1], by rodeo_data import csv --regression for example");
    return {};
  }
  const std::int64_t columns = label.dim(1);
  if (label.dtype() == DType::kU8) {
    if (columns == 1)
      return {str("labels are [", examples,
                  ", 1], understood as one label that is there or not, with micro-F1", as_classes)};
    if (is_one_hot<std::uint8_t>(label))
      return {str("labels are [", examples, ", ", columns,
                  "], understood as several labels each, but all have one", as_classes)};
    return {};
  }
  if (columns >= 2 && is_one_hot<float>(label))
    return {str("labels are floats, understood as ", columns,
                " numbers to predict, but each row has a single 1", as_classes)};
  if (const std::size_t kinds = columns == 1 ? kinds_of(label.to_vector<float>()) : 0)
    return {str("labels are floats, understood as numbers to predict, but all are one of 0, ..., ", kinds - 1,
                as_classes)};
  return {};
}

}  // namespace rodeo
