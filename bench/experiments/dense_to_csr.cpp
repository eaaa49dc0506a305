// Dense matrices to CSR, by size and density: all on the host; on the GPU with the row counts summed on the
// host, as published, or on the device; and with one writing thread a warp, as published.
#include "ops/dense_csr.h"

#include "bench/experiments/conversions.h"
#include "bench/experiments/text_forms.h"
#include "core/random.h"

namespace rodeo::bench {
namespace {

// f32 [side, side]: elements are nonzero with probability `density`.
Tensor draw_dense(std::int64_t side, double density) {
  const Tensor x = Tensor::empty({side, side});
  auto* values = x.data<float>();
  const std::int64_t elements = x.numel();
#pragma omp parallel for
  for (std::int64_t i = 0; i < elements; ++i) {
    const float u = to_unit(random_word(1, 6, static_cast<std::uint64_t>(i)));
    values[i] = u < static_cast<float>(density) ? u + 1 : 0;
  }
  return x;
}

// The definition, element by element.
bool is_csr_of(const WeightedAdjacency& a, const Tensor& x) {
  const std::int64_t rows = x.dim(0), cols = x.dim(1);
  const auto row_ptr = a.adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = a.adj.csr().col.to_vector<std::int32_t>();
  const auto weight = a.weight.to_vector<float>();
  const auto* values = x.data<float>();
  if (row_ptr.front() != 0 || row_ptr.back() != static_cast<std::int64_t>(col.size())) return false;
  bool same = true;
#pragma omp parallel for reduction(&& : same)
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t e = row_ptr[i];
    const std::int64_t end = row_ptr[i + 1];
    for (std::int64_t j = 0; j < cols; ++j) {
      if (values[i * cols + j] == 0) continue;
      same = same && e < end && col[e] == j && weight[e] == values[i * cols + j];
      ++e;
    }
    same = same && e == end;
  }
  return same;
}

}  // namespace

void run_dense_to_csr(ExperimentRun& run) {
  ConversionTable table(run, "Dense f32 matrix to CSR", "elements", {"nonzeros"});
  for (const std::int64_t side :
       run.small() ? std::vector<std::int64_t>{256, 512} : std::vector<std::int64_t>{1024, 4096, 16384})
    for (const double density : {0.001, 0.01, 0.1, 0.5}) {
      const Tensor host = draw_dense(side, density);
      for (const Device device : conversion_devices(run)) {
        const Tensor x = host.to(device);
        const auto add = [&](const char* variant, const auto& convert) {
          const WeightedAdjacency got = convert();
          table.add({str(side, " x ", side, ", ", density * 100, " %"), variant, device,
                     time_conversion(device, run.options.repeats, convert), x.numel(),
                     x.nbytes() + bytes_of(got.adj) + got.weight.nbytes(), is_csr_of(got, host)},
                    {cell(got.adj.num_edges())});
        };
        const auto scan_on_host = [&] { return dense_to_csr(x, RowScan::kHost); };
        if (!device.is_cuda()) {
          add("CPU", scan_on_host);
          continue;
        }
#if RODEO_WITH_CUDA
        add("published: CPU scan, one writer", [&] { return one_writer_dense_to_csr(x); });
#endif
        add("CPU scan", scan_on_host);
        add("GPU scan", [&] { return dense_to_csr(x, RowScan::kDevice); });
      }
    }
  table.print();
}

}  // namespace rodeo::bench
