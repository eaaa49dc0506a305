#include "ops/plan/dense_blocks.h"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <numeric>
#include <ostream>
#include <tuple>

#include "core/error.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int32_t>;
using std::int32_t;
using std::int64_t;

/// One group of rows, while its place among all groups is unknown.
struct Group {
  Ids col, bits, rest_col, rest_edge;
  std::vector<std::uint8_t> rest_row;
  std::vector<int64_t> rest_end;  // [kSegments]
};

/// Counts the columns of one group after the other.
class GroupBuilder {
 public:
  GroupBuilder(const Csr& a, const Ids& order, int32_t* place)
      : row_ptr_(a.row_ptr.data<int64_t>()),
        col_(a.col.data<int32_t>()),
        order_(order),
        place_(place),
        slot_(static_cast<std::size_t>(a.cols)) {}

  Group build(int64_t group) {
    const int64_t first = group * DenseBlocks::kRows,
                  last = std::min<int64_t>(first + DenseBlocks::kRows, std::ssize(order_));
    Group out;
    out.col = find_dense_columns(first, last);
    for (std::size_t k = 0; k < out.col.size(); ++k) slot_[at(out.col[k])] = static_cast<int32_t>(k) + 1;
    const Ids dense = out.col;
    out.col.resize((out.col.size() + DenseBlocks::kDepth - 1) / DenseBlocks::kDepth * DenseBlocks::kDepth,
                   -1);
    out.bits.resize(out.col.size() / DenseBlocks::kDepth * DenseBlocks::kStepWords);
    for (int64_t at_row = first; at_row < first + DenseBlocks::kRows; ++at_row) {
      if (at_row < last) add_row(static_cast<int>(at_row - first), order_[at(at_row)], out);
      if (at_row % DenseBlocks::kSegment == DenseBlocks::kSegment - 1)
        out.rest_end.push_back(std::ssize(out.rest_col));
    }
    for (const int32_t c : dense) slot_[at(c)] = 0;
    return out;
  }

 private:
  static std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

  Ids find_dense_columns(int64_t first, int64_t last) {
    Ids seen, dense;
    for (int64_t i = first; i < last; ++i)
      for (int64_t e = row_ptr_[order_[at(i)]]; e < row_ptr_[order_[at(i)] + 1]; ++e)
        if (slot_[at(col_[e])]++ == 0) seen.push_back(col_[e]);
    for (const int32_t c : seen) {
      if (slot_[at(c)] >= DenseBlocks::kMinCount) dense.push_back(c);
      slot_[at(c)] = 0;
    }
    std::ranges::sort(dense);
    return dense;
  }

  void add_row(int row, int32_t id, Group& out) {
    for (int64_t e = row_ptr_[id]; e < row_ptr_[id + 1]; ++e) {
      place_[e] = -1;
      if (const int32_t k = slot_[at(col_[e])] - 1; k >= 0) {
        const auto place = DenseBlocks::place_of(row, k % DenseBlocks::kDepth);
        const int32_t step = k / DenseBlocks::kDepth;
        auto& word = out.bits[at(step * DenseBlocks::kStepWords + place.word())];
        const auto bit = static_cast<int32_t>(1U << place.bit());
        if (!(word & bit)) {
          word |= bit;
          place_[e] = step * DenseBlocks::kStepElements + place.index();
          continue;
        }
      }
      out.rest_col.push_back(col_[e]);
      out.rest_edge.push_back(static_cast<int32_t>(e));
      out.rest_row.push_back(static_cast<std::uint8_t>(row % DenseBlocks::kSegment));
    }
  }

  const int64_t* row_ptr_;
  const int32_t* col_;
  const Ids& order_;
  int32_t* place_;
  Ids slot_;  // [cols]  how often a column was seen, then 1 + its place among the dense ones
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::uint32_t hash(int32_t col) {
  return static_cast<std::uint32_t>(random_word(0x64656e73, 0, static_cast<std::uint64_t>(col)));
}

}  // namespace

DenseBlocks make_dense_blocks(const Csr& a, const std::vector<int32_t>& order) {
  check(a.col.numel() <= std::numeric_limits<int32_t>::max(), "[dense_blocks] at most 2^31 - 1 edges, got ",
        a.col.numel());
  const int64_t groups = (std::ssize(order) + DenseBlocks::kRows - 1) / DenseBlocks::kRows;
  std::vector<Group> built(static_cast<std::size_t>(groups));
  DenseBlocks out;
  out.place = Tensor::empty({a.col.numel()}, DType::kI32);
  auto* place = out.place.data<int32_t>();
#pragma omp parallel
  {
    GroupBuilder builder(a, order, place);
#pragma omp for schedule(dynamic)
    for (int64_t g = 0; g < groups; ++g) built[static_cast<std::size_t>(g)] = builder.build(g);
  }

  Ids row = order, step_begin{0}, col, bits, rest_col, rest_edge;
  row.resize(static_cast<std::size_t>(groups * DenseBlocks::kRows), -1);
  std::vector<int64_t> rest_begin{0};
  std::vector<std::uint8_t> rest_row;
  for (const Group& group : built) {
    for (const int64_t end : group.rest_end) {
      rest_begin.push_back(std::ssize(rest_col) + end);
      out.longest_rest = std::max(out.longest_rest, rest_begin.back() - rest_begin[rest_begin.size() - 2]);
    }
    append(col, group.col), append(bits, group.bits);
    append(rest_col, group.rest_col), append(rest_edge, group.rest_edge), append(rest_row, group.rest_row);
    step_begin.push_back(static_cast<int32_t>(std::ssize(col) / DenseBlocks::kDepth));
  }
  const int64_t steps = step_begin.back();
  check(steps * DenseBlocks::kStepElements <= std::numeric_limits<int32_t>::max(),
        "[dense_blocks] more than 2^31 - 1 elements in tiles");
  const auto* row_ptr = a.row_ptr.data<int64_t>();
  for (const int32_t id : order) out.edges += row_ptr[id + 1] - row_ptr[id];
#pragma omp parallel for schedule(dynamic, DenseBlocks::kRows)
  for (int64_t i = 0; i < std::ssize(order); ++i) {
    const int32_t begin = step_begin[static_cast<std::size_t>(i / DenseBlocks::kRows)];
    const int32_t id = order[static_cast<std::size_t>(i)];
    for (int64_t e = row_ptr[id]; e < row_ptr[id + 1]; ++e)
      if (place[e] >= 0) place[e] += begin * DenseBlocks::kStepElements;
  }
  out.row = Tensor::from(row), out.step_begin = Tensor::from(step_begin), out.col = Tensor::from(col);
  out.bits = Tensor::from(bits), out.rest_begin = Tensor::from(rest_begin);
  out.rest_col = Tensor::from(rest_col), out.rest_edge = Tensor::from(rest_edge);
  out.rest_row = Tensor::from(rest_row);
  return out;
}

namespace {
// Not within min_hash_order: GCC 13.2 does not compile the order of a local class.
struct HashedRow {
  std::uint8_t cluster;
  std::uint32_t hash;
  int32_t row;
  auto operator<=>(const HashedRow&) const = default;
};
}  // namespace

std::vector<int32_t> min_hash_order(const Csr& a, const Tensor& cluster) {
  const auto* row_ptr = a.row_ptr.data<int64_t>();
  const auto* col = a.col.data<int32_t>();
  std::vector<std::uint32_t> hash_of(static_cast<std::size_t>(a.cols));
  for (int64_t c = 0; c < a.cols; ++c) hash_of[static_cast<std::size_t>(c)] = hash(static_cast<int32_t>(c));
  std::vector<HashedRow> keys(static_cast<std::size_t>(a.rows));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t row = 0; row < a.rows; ++row) {
    HashedRow key{cluster.defined() ? cluster.data<std::uint8_t>()[row] : std::uint8_t{0}, ~0U,
                  static_cast<int32_t>(row)};
    for (int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e)
      key.hash = std::min(key.hash, hash_of[static_cast<std::size_t>(col[e])]);
    keys[static_cast<std::size_t>(row)] = key;
  }
  std::ranges::sort(keys);
  std::vector<int32_t> order;
  for (const HashedRow& key : keys) order.push_back(key.row);
  return order;
}

DenseBlocks DenseBlocks::to(Device device) const {
  return {row.to(device),      step_begin.to(device),
          col.to(device),      bits.to(device),
          place.to(device),    rest_begin.to(device),
          rest_col.to(device), rest_edge.to(device),
          rest_row.to(device), edges,
          longest_rest};
}

std::ostream& operator<<(std::ostream& out, const DenseBlocks& blocks) {
  const auto permille = blocks.edges == 0 ? 0 : 1000 * (blocks.edges - blocks.rest()) / blocks.edges;
  return out << blocks.groups() << " groups of " << DenseBlocks::kRows << " rows, " << blocks.steps()
             << " steps, " << permille / 10 << "." << permille % 10 << " % of the edges in tiles";
}

}  // namespace rodeo
