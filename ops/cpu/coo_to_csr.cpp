// Sorts an edge list with (row, column) packed into one key, as on the GPU:
//   1. one stable pass distributes the keys to buckets of consecutive rows that fit the cache;
//   2. each bucket is radix sorted;
//   3. the edges to keep are counted and written.
// Every phase is parallel. The result does not depend on the number of threads.
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {
namespace {

using Key = std::uint64_t;
constexpr int kMaxBucketBits = 11;           // so many streams of writes still fit the cache
constexpr std::int64_t kBucketItems = 8192;  // aimed at
constexpr int kMaxDigitBits = 11;

struct Keyed {
  Key key;
  std::int64_t id;  // position in the input; -1 for an added self loop
};

Key key_of(Key item) {
  return item;
}
Key key_of(const Keyed& item) {
  return item.key;
}

template <class Item>
Item make_item(Key key, std::int64_t id) {
  if constexpr (std::is_same_v<Item, Keyed>)
    return {key, id};
  else
    return key;
}

int bits_for(std::int64_t count) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < count) ++bits;
  return bits;
}

struct Packing {
  int col_bits;
  Key pack(std::int64_t row, std::int64_t col) const {
    return static_cast<Key>(row) << col_bits | static_cast<Key>(col);
  }
  std::int64_t row(Key key) const { return static_cast<std::int64_t>(key >> col_bits); }
  std::int64_t col(Key key) const { return static_cast<std::int64_t>(key & ((Key{1} << col_bits) - 1)); }
};

/// f(part, begin, end) for every part of [0, n), one part per thread.
template <class F>
void for_each_part(int parts, std::int64_t n, F&& f) {
#pragma omp parallel for schedule(static, 1) if (parts > 1)
  for (int part = 0; part < parts; ++part) f(part, n * part / parts, n * (part + 1) / parts);
}

/// out: item(0) ... item(n - 1), stably sorted by key >> shift. Returns the begin of each bucket.
template <class Item, class Make>
std::vector<std::int64_t> fill_buckets(std::int64_t n, int shift, std::int64_t buckets, int parts,
                                       Make&& item, Item* out) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(parts * buckets)), begin;
  for_each_part(parts, n, [&](int part, std::int64_t first, std::int64_t last) {
    std::int64_t* count = place.data() + part * buckets;
    for (std::int64_t i = first; i < last; ++i) ++count[key_of(item(i)) >> shift];
  });
  std::int64_t next = 0;
  for (std::int64_t b = 0; b < buckets; ++b) {
    begin.push_back(next);
    for (int part = 0; part < parts; ++part) next += std::exchange(place[part * buckets + b], next);
  }
  begin.push_back(next);
  for_each_part(parts, n, [&](int part, std::int64_t first, std::int64_t last) {
    std::int64_t* to = place.data() + part * buckets;
    for (std::int64_t i = first; i < last; ++i) {
      const Item it = item(i);
      out[to[key_of(it) >> shift]++] = it;
    }
  });
  return begin;
}

/// A stable radix sort by the lowest `bits` bits of the keys.
template <class Item>
void radix_sort(Item* items, Item* scratch, std::int64_t n, int bits) {
  if (n < 2 || bits == 0) return;
  const int passes = (bits + kMaxDigitBits - 1) / kMaxDigitBits, digit_bits = (bits + passes - 1) / passes;
  const Key mask = (Key{1} << digit_bits) - 1;
  std::array<std::int64_t, 1 << kMaxDigitBits> place;
  Item *from = items, *to = scratch;
  for (int shift = 0; shift < bits; shift += digit_bits) {
    const auto digit = [&](const Item& item) { return key_of(item) >> shift & mask; };
    std::fill_n(place.begin(), mask + 1, 0);
    for (std::int64_t i = 0; i < n; ++i) ++place[digit(from[i])];
    if (place[digit(from[0])] == n) continue;
    std::exclusive_scan(place.begin(), place.begin() + mask + 1, place.begin(), std::int64_t{0});
    for (std::int64_t i = 0; i < n; ++i) to[place[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::copy_n(from, n, items);
}

/// Each thread sorts every parts-th bucket in order of size, for an even load; its buffer fits its largest
/// bucket.
template <class Item>
void sort_buckets(Item* items, const std::vector<std::int64_t>& begin, int bits, int parts) {
  const auto size = [&](std::int64_t b) { return begin[b + 1] - begin[b]; };
  std::vector<std::int64_t> order(begin.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, size);
  const int used = std::min(parts, static_cast<int>(order.size()));
  std::vector<Tensor> scratch;
  for (int part = 0; part < used; ++part)
    scratch.push_back(
        Tensor::empty({size(order[part]) * static_cast<std::int64_t>(sizeof(Item))}, DType::kU8));
  for_each_part(used, used, [&](int part, std::int64_t, std::int64_t) {
    for (std::size_t k = part; k < order.size(); k += used)
      radix_sort(items + begin[order[k]], static_cast<Item*>(scratch[part].raw()), size(order[k]), bits);
  });
}

struct Rule {
  bool unique, add_loops, drop_loops;
};

/// Equal keys keep the order of the input, so an added self loop is the last of its run.
template <class Item>
bool keep(const Item* items, std::int64_t i, std::int64_t n, Packing packing, Rule rule) {
  const Key key = key_of(items[i]);
  const bool loop = packing.row(key) == packing.col(key);
  const bool repeats = i > 0 && key_of(items[i - 1]) == key;
  const bool ends_run = i + 1 == n || key_of(items[i + 1]) != key;
  const bool redundant = repeats && (rule.unique || (rule.add_loops && loop && ends_run));
  return !redundant && !(rule.drop_loops && loop);
}

template <class Item>
SortedEdges compress(const Item* items, std::int64_t n, std::int64_t rows, std::int64_t cols, Packing packing,
                     Rule rule, int parts) {
  const bool keep_all = !rule.unique && !rule.add_loops && !rule.drop_loops;
  std::vector<std::int64_t> kept(static_cast<std::size_t>(parts) + 1);  // before each part
  for_each_part(parts, n, [&](int part, std::int64_t first, std::int64_t last) {
    std::int64_t count = last - first;
    if (!keep_all)
      for (std::int64_t i = first; i < last; ++i) count -= !keep(items, i, n, packing, rule);
    kept[part + 1] = count;
  });
  std::partial_sum(kept.begin(), kept.end(), kept.begin());

  const std::int64_t nnz = kept.back();
  SortedEdges out{{rows, cols, Tensor::empty({rows + 1}, DType::kI64), Tensor::empty({nnz}, DType::kI32)},
                  std::is_same_v<Item, Keyed> ? Tensor::empty({nnz}, DType::kI64) : Tensor()};
  auto* row_ptr = out.csr.row_ptr.template data<std::int64_t>();
  auto* columns = out.csr.col.template data<std::int32_t>();
  auto* ids = static_cast<std::int64_t*>(out.edge_ids.raw());
  for_each_part(parts, n, [&](int part, std::int64_t first, std::int64_t last) {
    std::int64_t to = kept[part];
    std::int64_t row = first > 0 ? packing.row(key_of(items[first - 1])) : -1;
    for (std::int64_t i = first; i < last; ++i) {
      const Key key = key_of(items[i]);
      while (row < packing.row(key)) row_ptr[++row] = to;
      if (!keep_all && !keep(items, i, n, packing, rule)) continue;
      columns[to] = static_cast<std::int32_t>(packing.col(key));
      if constexpr (std::is_same_v<Item, Keyed>) ids[to] = items[i].id;
      ++to;
    }
  });
  for (std::int64_t row = n > 0 ? packing.row(key_of(items[n - 1])) : -1; row < rows;) row_ptr[++row] = nnz;
  return out;
}

template <class Item, class I>
SortedEdges convert(const I* row, const I* col, std::int64_t edges, std::int64_t rows, std::int64_t cols,
                    const CooOptions& options) {
  const std::int64_t mirrored = options.symmetrize ? edges : 0;
  const std::int64_t n = edges + mirrored + (options.self_loops == SelfLoops::kAdd ? rows : 0);
  const int parts = n > kSerial ? omp_get_max_threads() : 1;
  const Packing packing{bits_for(cols)};
  const int bits = packing.col_bits + bits_for(rows);
  const int bucket_bits = std::min({bits_for(n / kBucketItems), kMaxBucketBits, bits});
  const Tensor memory = Tensor::empty({n * static_cast<std::int64_t>(sizeof(Item))}, DType::kU8);
  auto* items = static_cast<Item*>(memory.raw());

  // The edges, then their reverses (symmetrize), then one self loop for each node with id -1 (kAdd).
  const auto item = [=](std::int64_t i) {
    if (i < edges) return make_item<Item>(packing.pack(row[i], col[i]), i);
    if (i < edges + mirrored) return make_item<Item>(packing.pack(col[i - edges], row[i - edges]), i - edges);
    const std::int64_t node = i - edges - mirrored;
    return make_item<Item>(packing.pack(node, node), -1);
  };
  const std::vector<std::int64_t> begin =
      fill_buckets(n, bits - bucket_bits, std::int64_t{1} << bucket_bits, parts, item, items);
  sort_buckets(items, begin, bits - bucket_bits, parts);
  const Rule rule{options.drop_duplicates || options.symmetrize, options.self_loops == SelfLoops::kAdd,
                  options.self_loops == SelfLoops::kDrop};
  return compress(items, n, rows, cols, packing, rule, parts);
}

}  // namespace

SortedEdges coo_to_csr(const Tensor& row, const Tensor& col, std::int64_t rows, std::int64_t cols,
                       const CooOptions& options) {
  const auto with = [&]<class I>(I) {
    const auto run = options.edge_ids ? convert<Keyed, I> : convert<Key, I>;
    return run(row.data<I>(), col.data<I>(), row.numel(), rows, cols, options);
  };
  return row.dtype() == DType::kI64 ? with(std::int64_t{}) : with(std::int32_t{});
}

}  // namespace rodeo::kernels::cpu
