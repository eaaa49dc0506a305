#include "ops/edge_sum.h"

#include "core/storage.h"
#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsEdgeSum : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsEdgeSum);

Sums reference(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto ids = edge_ids.defined() ? edge_ids.to_vector<std::int64_t>() : std::vector<std::int64_t>();
  const std::int64_t k = x.rank() == 2 ? x.dim(1) : 1;
  const std::vector<double> xs = doubles(x);
  Sums out{std::vector<double>(static_cast<std::size_t>(adj.rows() * k)), {}};
  out.scale = out.y;
#pragma omp parallel for schedule(dynamic, 64) if (x.numel() > 16384)
  for (std::int64_t i = 0; i < adj.rows(); ++i)
    for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
      for (std::int64_t j = 0; j < k; ++j) {
        const double term = xs[(ids.empty() ? e : ids[e]) * k + j];
        out.y[i * k + j] += term;
        out.scale[i * k + j] += std::abs(term);
      }
  return out;
}

void check_case(const Adjacency& host, const Tensor& x, const Tensor& ids, Device device,
                const std::string& what) {
  const Adjacency adj = host.to(device);
  const Sums want = reference(host, x, ids);
  set_poison_memory(true);
  const auto run = [&] { return edge_sum(adj, x.to(device), ids.defined() ? ids.to(device) : Tensor()); };
  const Tensor y = run(), again = run();
  set_poison_memory(false);
  ASSERT_EQ(y.shape(), (x.rank() == 2 ? Shape{host.rows(), x.dim(1)} : Shape{host.rows()})) << what;
  ASSERT_TRUE(near(y, want.y, sum_tolerance(x.dtype()), 1e-7, want.scale)) << what;
  ASSERT_TRUE(same_bits(y, again)) << what;
}

TEST_P(OpsEdgeSum, AllCases) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make();
    const Transposed t = transpose(host);
    for (const std::int64_t k : {0, 1, 3, 8, 9, 16, 41})
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
        if (dtype != DType::kF32 && k > 9) continue;  // the reference takes its time
        const Tensor x = random_tensor({host.num_edges(), k}, dtype, kCpu, 5);
        const std::string what = str(sparse_case.name, " k=", k, " ", dtype);
        check_case(host, x, {}, device(), what);
        check_case(t.adj, x, t.edge_ids, device(), what + " by column");
      }
    check_case(host, random_tensor({host.num_edges()}, DType::kF32, kCpu, 6), {}, device(),
               str(sparse_case.name, " rank 1"));
  }
}

TEST_P(OpsEdgeSum, SlicedOperandsAreNotAligned) {
  const Adjacency host = graph_with_lengths({40, 3, 1200, 0}, 50);
  const std::int64_t edges = host.num_edges();
  const Tensor whole = random_tensor({edges * 8 + 1}, DType::kF32, kCpu).to(device()),
               x = whole.slice(1, 1 + edges * 8).reshape({edges, 8});
  const Sums want = reference(host, x.to(kCpu).clone(), {});
  EXPECT_TRUE(near(edge_sum(host.to(device()), x), want.y, 1e-5, 1e-7, want.scale));
}

TEST_P(OpsEdgeSum, Gradients) {
  const Adjacency adj = graph_with_lengths({0, 3, 40, 1, 0}, 7).to(device());
  for (const Shape& shape : {Shape{44}, Shape{44, 1}, Shape{44, 3}})
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return edge_sum(adj, in[0]); },
                             {random_variable(shape, device())}))
        << shape;
}

TEST_P(OpsEdgeSum, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 4).to(device());
  const auto zeros = [&](const Shape& shape, DType dtype = DType::kF32) {
    return Tensor::zeros(shape, dtype, device());
  };
  EXPECT_ERROR(edge_sum(adj, zeros({3, 2})), "[edge_sum] x must have 4 rows, one an edge, got [3, 2]");
  EXPECT_ERROR(edge_sum(adj, zeros({4, 2, 2})), "[edge_sum] x must be [edges] or [edges, k], got [4, 2, 2]");
  EXPECT_ERROR(edge_sum(adj, zeros({4}, DType::kI64)), "[edge_sum] x must be floating point, got i64");
  EXPECT_ERROR(edge_sum(adj, zeros({4}), zeros({4}, DType::kI32)),
               "[edge_sum] edge_ids must be i64, got i32");
  EXPECT_ERROR(edge_sum(adj, zeros({4}), zeros({3}, DType::kI64)),
               "[edge_sum] edge_ids must be [4], got [3]");
}

}  // namespace
}  // namespace rodeo::test
