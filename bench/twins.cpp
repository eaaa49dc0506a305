#include "bench/twins.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"
#include "core/text.h"

namespace rodeo::bench {
namespace {

enum Stream : std::uint64_t { kOrder = 0x7477696e, kNewColumns };
constexpr std::uint64_t kSeed = 1;

/// Uniform in [0, count), count at most 2^32.
std::int64_t below(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>((word * static_cast<std::uint64_t>(count)) >> 32);
}

/// The quantile of the standard normal distribution by bisection of its distribution function.
double normal_quantile(double p) {
  double low = -9, high = 9;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Values at evenly spaced quantiles of a lognormal distribution with this spread, cut off at `longest`,
/// whose mean is `mean`.
std::vector<double> lognormal(double spread, double mean, double longest, const std::vector<double>& normal) {
  double low = 0, high = std::max(1.0, longest) * 2;
  std::vector<double> values(normal.size());
  for (int i = 0; i < 60; ++i) {
    const double scale = (low + high) / 2;
    double sum = 0;
    for (std::size_t k = 0; k < normal.size(); ++k)
      sum += values[k] = std::min(longest, scale * std::exp(spread * normal[k]));
    (sum < mean * static_cast<double>(normal.size()) ? low : high) = scale;
  }
  return values;
}

/// The standard deviation once values have been rounded up or down so that their sum is kept.
double deviation_of(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) {
    const double fraction = value - std::floor(value);
    sum += (value - mean) * (value - mean) + fraction * (1 - fraction);
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// Adds or removes single nonzeros, evenly over the rows, until the sum is right. Row 0 is kept.
void correct_sum(std::vector<std::int64_t>& lengths, std::int64_t sum, std::int64_t longest) {
  const auto rows = static_cast<std::int64_t>(lengths.size());
  std::int64_t missing = sum - std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  for (int round = 0; round < 1000 && missing != 0 && rows > 1; ++round) {
    const std::int64_t change = missing > 0 ? 1 : -1,
                       stride = std::max<std::int64_t>(1, rows / std::abs(missing));
    for (std::int64_t i = 1 + round % stride; i < rows && missing != 0; i += stride) {
      if (lengths[i] + change < 0 || lengths[i] + change > longest) continue;
      lengths[i] += change, missing -= change;
    }
  }
  check(missing == 0, "[twin] ", sum, " nonzeros do not fit into ", rows, " rows of at most ", longest);
}

}  // namespace

const std::vector<Twin>& all_twins() {
  // Sizes: the CSR-vector text (references.md). It misprints the nonzeros of Ga41As41H72 as 1848847.
  // Row statistics: the SuiteSparse Matrix Collection, as published in the SpMV literature.
  static const std::vector<Twin> twins{
      {"shyy41", 4720, 4720, 20042, 0.43, 5, true, "row lengths taken as even: only the mean is known"},
      {"mip1", 66463, 66463, 10352819, 350.7, 66395, false, ""},
      {"ash219", 219, 85, 438, 0, 2, false, ""},
      {"Si41Ge41H72", 185639, 185639, 15011265, 127.0, 662, false, ""},
      {"Ga41As41H72", 268096, 268096, 18488476, 105.4, 702, false, ""},
      {"webbase-1M", 1000005, 1000005, 3105536, 25.3, 4700, false, ""},
  };
  return twins;
}

std::string twin_names() {
  return join(all_twins(), ", ", &Twin::name);
}

const Twin& find_twin(const std::string& name) {
  for (const Twin& twin : all_twins())
    if (twin.name == name) return twin;
  fail("--twin must be of ", twin_names(), ", all, got '", name, "'");
}

Twin shrink(Twin twin, std::int64_t part) {
  const auto share = [&](std::int64_t whole) { return std::max<std::int64_t>(whole / part, 64); };
  if (part <= 1 || twin.rows <= 64 * part) return twin;
  twin.rows = share(twin.rows), twin.cols = share(twin.cols), twin.nonzeros = share(twin.nonzeros);
  twin.longest = std::min(twin.longest, twin.cols);
  return twin;
}

std::vector<std::int64_t> twin_lengths(const Twin& twin) {
  const auto rows = static_cast<double>(twin.rows), longest = static_cast<double>(twin.longest);
  const double mean = static_cast<double>(twin.nonzeros) / rows;
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(twin.rows));
  // The longest row is set; the others share the rest of the sum and of the variance.
  const double rest = (static_cast<double>(twin.nonzeros) - longest) / std::max(rows - 1, 1.0);
  const double variance = twin.deviation * twin.deviation - (longest - mean) * (longest - mean) / rows;
  const double wanted = std::sqrt(std::max(0.0, variance));
  std::vector<double> normal(std::min<std::size_t>(lengths.size(), 4096));
  for (std::size_t k = 0; k < normal.size(); ++k)
    normal[k] = normal_quantile((static_cast<double>(k) + 0.5) / static_cast<double>(normal.size()));
  double low = 0, high = 8;
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    const double spread = (low + high) / 2;
    values = lognormal(spread, rest, longest, normal);
    (deviation_of(values, rest) < wanted ? low : high) = spread;
  }
  // Errors of rounding are carried to the next row.
  double carried = 0;
  for (std::int64_t i = 1; i < twin.rows; ++i) {
    const double exact =
        values[static_cast<std::size_t>(i * static_cast<std::int64_t>(values.size()) / twin.rows)];
    lengths[i] =
        std::min(twin.longest, static_cast<std::int64_t>(std::llround(std::max(0.0, exact + carried))));
    carried += exact - static_cast<double>(lengths[i]);
  }
  lengths[0] = twin.longest;
  correct_sum(lengths, twin.nonzeros, twin.longest);
  for (std::int64_t i = twin.rows - 1; i > 0; --i)
    std::swap(lengths[i], lengths[below(random_word(kSeed, kOrder, static_cast<std::uint64_t>(i)), i + 1)]);
  return lengths;
}

Adjacency random_matrix(const std::vector<std::int64_t>& lengths, std::int64_t cols, bool banded) {
  const auto rows = static_cast<std::int64_t>(lengths.size());
  Csr csr{rows, cols, Tensor::empty({rows + 1}, DType::kI64), {}};
  auto* row_ptr = csr.row_ptr.data<std::int64_t>();
  row_ptr[0] = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    check(lengths[i] >= 0 && lengths[i] <= cols, "[random_matrix] row ", i, " has ", lengths[i],
          " nonzeros in ", cols, " columns");
    row_ptr[i + 1] = row_ptr[i] + lengths[i];
  }
  csr.col = Tensor::empty({row_ptr[rows]}, DType::kI32);
  auto* col = csr.col.data<std::int32_t>();
#pragma omp parallel for schedule(dynamic, 256)
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t length = lengths[i], width = banded ? std::min(cols, 2 * length) : cols;
    const std::int64_t first = std::clamp<std::int64_t>(i * cols / rows - width / 2, 0, cols - width);
    for (std::int64_t k = 0; k < length; ++k) {  // one column in each of `length` intervals
      const std::int64_t begin = k * width / length, end = (k + 1) * width / length;
      const std::uint32_t word = random_word(kSeed, kNewColumns, static_cast<std::uint64_t>(row_ptr[i] + k));
      col[row_ptr[i] + k] = static_cast<std::int32_t>(first + begin + below(word, end - begin));
    }
  }
  return Adjacency::trusted(csr);
}

}  // namespace rodeo::bench
