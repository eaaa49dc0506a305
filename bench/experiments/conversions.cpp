#include "bench/experiments/conversions.h"

#include <cstring>
#include <numeric>

#include "core/random.h"
#include "ops/convert.h"
#include "ops/validate.h"

namespace rodeo::bench {
namespace {

std::vector<std::string> columns(const std::string& items, std::vector<std::string> more) {
  std::vector<std::string> all{"input", "variant", "device", "ms", "M" + items + "/s", "GB/s", "x CPU"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

ConversionTable::ConversionTable(ExperimentRun& run, const std::string& title, const std::string& items,
                                 std::vector<std::string> more_columns)
    : run_(run), table_(title, columns(items, std::move(more_columns))) {}

void ConversionTable::add(const ConversionRow& row, std::vector<std::string> more_cells) {
  if (!row.device.is_cuda()) cpu_ms_ = row.ms, cpu_input_ = row.input;
  if (!row.right) {
    run_.report.ours_wrong = true;
    run_.report.faults.push_back(
        str(row.input, ": ", row.variant, " on ", row.device, " differs from the result of the host"));
  }
  std::vector<std::string> cells{row.input,
                                 row.variant,
                                 str(row.device),
                                 cell(row.ms),
                                 cell(static_cast<double>(row.items) / row.ms / 1e3),
                                 cell(static_cast<double>(row.bytes) / row.ms / 1e6),
                                 cell(cpu_input_ == row.input ? cpu_ms_ / row.ms : 0)};
  cells.insert(cells.end(), more_cells.begin(), more_cells.end());
  table_.add(std::move(cells));
}

std::vector<Device> conversion_devices(const ExperimentRun& run) {
  if (!run.device().is_cuda()) return {kCpu};
  return {kCpu, run.device()};
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.to(kCpu), y = b.to(kCpu);
  return a.numel() == 0 || std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.nbytes())) == 0;
}

bool same_csr(const Adjacency& a, const Adjacency& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && same_bytes(a.csr().row_ptr, b.csr().row_ptr) &&
         same_bytes(a.csr().col, b.csr().col);
}

bool has_sorted_rows(const Adjacency& adj) {
  return scan_csr(adj.csr().row_ptr, adj.csr().col, adj.cols()).sorted;
}

ScatteredEdges scatter_edges(const Adjacency& adj) {
  const std::int64_t edges = adj.num_edges();
  // A stride that is coprime to the number of edges visits each of them once.
  auto stride = static_cast<std::int64_t>(static_cast<double>(edges) * 0.6180339887) | 1;
  while (std::gcd(stride, edges) > 1) stride += 2;
  const Tensor order = Tensor::empty({edges}, DType::kI64), weight = Tensor::empty({edges});
  auto* position = order.data<std::int64_t>();
  auto* value = weight.data<float>();
#pragma omp parallel for
  for (std::int64_t i = 0; i < edges; ++i) {
    position[i] =
        static_cast<std::int64_t>(static_cast<unsigned __int128>(i) * static_cast<std::uint64_t>(stride) %
                                  static_cast<std::uint64_t>(edges));
    value[i] = to_unit(random_word(11, 0, static_cast<std::uint64_t>(i))) + 0.5F;
  }
  const Adjacency host = adj.to(kCpu);
  return {take(edge_rows(host), order), take(host.csr().col, order), take(weight, order), weight};
}

}  // namespace rodeo::bench
