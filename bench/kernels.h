/// The kernels that sparse_bench times. kernels.cpp has one table row for each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/adjacency.h"

namespace rodeo::bench {

enum class Op { kSpmm, kSddmm, kSpmv };
std::string_view name(Op op);

/// One cell of the table: an operation on a graph at one width and dtype, with its operands.
struct Problem {
  Op op;
  Adjacency adj;
  DType dtype;
  std::int64_t n;  // columns; 1 for SpMV
  Tensor weight;   // [edges]; undefined: ones
  Tensor x;        // [cols, n]; SDDMM: b2
  Tensor b1;       // [rows, n]; SDDMM only
};

/// Random operands in [-1, 1), rounded to `dtype`, which is also the dtype of `weight`.
Problem make_problem(Op op, const Adjacency& adj, DType dtype, std::int64_t n, const Tensor& weight = {});
/// Random values in [-1, 1), rounded to `dtype`.
Tensor draw_operand(const Shape& shape, std::uint64_t stream, DType dtype, Device device);

/// Enqueues the kernel once. The result is Y [rows, n]; for SDDMM, S [edges]. All of it is overwritten.
using Run = std::function<Tensor()>;

/// Thrown by prepare() or by the first run if the kernel does not support the problem.
struct Unsupported : Error {
  using Error::Error;
};

struct Kernel {
  std::string name;
  Op op;
  /// Computes what is computed once for a graph; this is not timed. Returns an empty Run if the kernel is not
  /// for this problem.
  std::function<Run(const Problem&)> prepare;
  bool peer = false;        // a vendor baseline
  bool tf32 = false;        // rounds f32 operands to a 10-bit mantissa
  bool only_named = false;  // timed only where the filter names it
};

/// The kernels of Rodeo, and in CUDA builds those of cuSPARSE.
const std::vector<Kernel>& all_kernels();
/// The kernels of an operation that `filter` names: by the full name, or, where no kernel has that name, by
/// the part before a dash for a whole family ("cusparse"). An empty filter selects all but those with
/// only_named.
std::vector<Kernel> select_kernels(Op op, const std::vector<std::string>& filter);
/// Throws Error that lists the choices if a part of the filter matches no kernel of these operations.
void check_filter(const std::vector<std::string>& filter, const std::vector<Op>& ops);

/// Preprocessing of a graph, done once before its first kernel.
struct Plan {
  std::string name;
  std::function<void(const Adjacency&)> build;  // caches it on the graph
};
const std::vector<Plan>& all_plans();

}  // namespace rodeo::bench
