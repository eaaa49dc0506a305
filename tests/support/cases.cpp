#include "tests/support/cases.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "core/random.h"
#include "datasets/dataset.h"
#include "ops/convert.h"

namespace rodeo::test {
namespace {

std::int64_t draw(std::uint64_t seed, std::uint64_t index, std::int64_t limit) {
  return static_cast<std::int64_t>(random_word(seed, 0, index)) % limit;
}

Adjacency from_edges(const std::vector<std::int64_t>& row, const std::vector<std::int64_t>& col,
                     std::int64_t rows, std::int64_t cols) {
  return coo_to_csr(Tensor::from(row), Tensor::from(col), rows, cols).adj;
}

Adjacency even(std::int64_t rows, std::int64_t cols, std::int64_t length) {
  return graph_with_lengths(std::vector<std::int64_t>(static_cast<std::size_t>(rows), length), cols);
}

// Row lengths just below, at and above every tile size of the kernels.
Adjacency lengths_around_tiles() {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t tile : {8, 16, 32, 64, 128, 256, 512, 512 + 32, 1024, 1024 + 32, 1536})
    for (std::int64_t delta = -1; delta <= 1; ++delta) lengths.push_back(tile + delta);
  lengths.insert(lengths.end(), {0, 1, 2, 3, 0});
  return graph_with_lengths(lengths, 700);
}

Adjacency power_law() {
  std::vector<std::int64_t> lengths(3000);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = std::min<std::int64_t>(
        2500, static_cast<std::int64_t>(3 / std::max(1e-3f, to_unit(random_word(9, 1, i)))));
  return graph_with_lengths(lengths, 3000);
}

Adjacency self_loops() {
  std::vector<std::int64_t> row, col;
  for (std::int64_t i = 0; i < 500; ++i) {
    row.insert(row.end(), {i, i, i});
    col.insert(col.end(), {i, (i * 7) % 500, i});
  }
  return from_edges(row, col, 500, 500);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const SparseCase& sparse_case) {
  return out << sparse_case.name;
}

Adjacency graph_with_lengths(const std::vector<std::int64_t>& lengths, std::int64_t cols,
                             std::uint64_t seed) {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  for (const std::int64_t length : lengths) row_ptr.push_back(row_ptr.back() + length);
  for (std::int64_t e = 0; e < row_ptr.back(); ++e)
    col.push_back(static_cast<std::int32_t>(draw(seed, static_cast<std::uint64_t>(e), cols)));
  return Adjacency(
      {static_cast<std::int64_t>(lengths.size()), cols, Tensor::from(row_ptr), Tensor::from(col)});
}

const std::vector<SparseCase>& sparse_cases() {
  static const std::vector<SparseCase> cases{
      {"no_edges", [] { return even(40, 30, 0); }},
      {"no_rows", [] { return even(0, 30, 0); }},
      {"one_edge", [] { return even(1, 1, 1); }},
      {"one_column", [] { return even(200, 1, 3); }},
      {"short_rows", [] { return even(1000, 900, 5); }},
      {"lengths_around_tiles", lengths_around_tiles},
      {"hub",
       [] {
         return graph_with_lengths({3, 100000, 0, 40}, 5000);
       }},
      {"wide_rectangle", [] { return even(50, 20000, 100); }},
      {"tall_rectangle", [] { return even(20000, 50, 6); }},
      {"duplicates", [] { return even(300, 4, 50); }},
      {"self_loops", self_loops},
      {"power_law", power_law},
  };
  return cases;
}

Adjacency load_topology(const std::string& path) {
  return to_graph(load_dataset(path), kCpu).adj;
}

std::string shared_data(const std::string& file) {
  const char* folder = std::getenv("RODEO_SHARED_DATA");
  const std::filesystem::path path =
      std::filesystem::path(folder ? folder : RODEO_SOURCE_DIR "/../shared/data") / file;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

}  // namespace rodeo::test
