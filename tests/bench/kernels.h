/// What sparse_bench times: a kernel is one line in kernels.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/adjacency.h"

namespace rodeo::bench {

enum class Op { kSpmm, kSddmm, kSpmv };
std::string_view name(Op op);

/// One cell of the table: an operation on a graph at a width and a type, and its operands.
struct Problem {
  Op op;
  Adjacency adj;
  DType dtype;
  std::int64_t n;  // columns; 1 for SpMV
  Tensor weight;   // [edges]; undefined: ones. SDDMM takes none
  Tensor x;        // [cols, n]; SDDMM: b2
  Tensor b1;       // [rows, n]; SDDMM only
};

/// Random operands in [-1, 1), rounded to `dtype`.
Problem make_problem(Op op, const Adjacency& adj, DType dtype, std::int64_t n, bool weighted);

/// Enqueues the work once. The result is Y [rows, n], of SDDMM S [edges], and overwritten whole.
using Run = std::function<Tensor()>;

/// A kernel that cannot take a problem says so by throwing this from prepare() or from its first run.
struct Unsupported : Error {
  using Error::Error;
};

struct Kernel {
  std::string name;
  Op op;
  /// Makes everything that is made once for a graph, outside of the timing. Empty: not for this problem.
  std::function<Run(const Problem&)> prepare;
  bool peer = false;  // not ours: what we are compared with
  bool tf32 = false;  // rounds f32 operands to a 10-bit mantissa
};

/// Ours, and cuSPARSE's where CUDA is built in.
const std::vector<Kernel>& all_kernels();
/// Those of an operation that `filter` names: each by its whole name, or by the part before a dash for all
/// of a family ("cusparse"). An empty filter takes all.
std::vector<Kernel> select_kernels(Op op, const std::vector<std::string>& filter);
/// Throws Error, naming the choices, for a part of the filter that fits no kernel of these operations.
void check_filter(const std::vector<std::string>& filter, const std::vector<Op>& ops);

/// What is computed from a graph once, before its first product.
struct Plan {
  std::string name;
  std::function<void(const Adjacency&)> build;  // keeps it on the graph
};
const std::vector<Plan>& all_plans();

}  // namespace rodeo::bench
