/// Timing and comparison that the conversion experiments share.
#pragma once

#include <chrono>
#include <vector>

#include "bench/experiments/experiment.h"
#include "bench/timing.h"

namespace rodeo::bench {

struct ConversionRow {
  std::string input, variant;
  Device device;
  double ms;
  std::int64_t items;  // matrix elements or edges of the input
  std::int64_t bytes;  // of the input and of the result, each once
  bool right;          // as the host's result; else a fault of ours
};

/// A table with a row for the host and for the device of a run; "x CPU" is against the last row of the host
/// with the same input.
class ConversionTable {
 public:
  ConversionTable(ExperimentRun& run, const std::string& title, const std::string& items,
                  std::vector<std::string> more_columns = {});
  void add(const ConversionRow& row, std::vector<std::string> more_cells = {});
  void print() const { table_.print(); }

 private:
  ExperimentRun& run_;
  TextTable table_;
  std::string cpu_input_;
  double cpu_ms_ = 0;
};

/// The CPU, and the device of the run if it is another one.
std::vector<Device> conversion_devices(const ExperimentRun& run);

/// Equal shape, dtype and bytes; both undefined is equal, too. The tensors may be on any device.
bool same_bytes(const Tensor& a, const Tensor& b);
bool same_csr(const Adjacency& a, const Adjacency& b);
bool has_sorted_rows(const Adjacency& adj);

inline std::int64_t bytes_of(const Adjacency& adj) {
  return adj.csr().row_ptr.nbytes() + adj.csr().col.nbytes();
}

/// The edges of a graph with random weights, on the host, in an order far from sorted.
struct ScatteredEdges {
  Tensor row, col;       // i32 [edges]
  Tensor weight;         // f32 [edges], in the order of row and col
  Tensor sorted_weight;  // the same weights in the edge order of the graph
};
ScatteredEdges scatter_edges(const Adjacency& adj);

/// Median milliseconds. On the CPU, of as many runs as take about half a second, at most `repeats`.
template <class F>
double time_conversion(Device device, int repeats, F&& f) {
  if (device.is_cuda()) return median_milliseconds(device, repeats, f);
  constexpr double kBudget = 500;
  std::vector<double> times;
  f();
  for (double total = 0; times.empty() || (static_cast<int>(times.size()) < repeats && total < kBudget);
       total += times.back()) {
    const auto begin = std::chrono::steady_clock::now();
    run_and_keep(f, [&] {
      times.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    });
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace rodeo::bench
