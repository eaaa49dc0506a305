// Kernels as the source texts print them: each gives what the library gives.
#include "bench/experiments/text_forms.h"

#include <vector>

#include "bench/verify.h"
#include "core/random.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::bench {
namespace {

class BenchTextForms : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(BenchTextForms);

TEST_P(BenchTextForms, SpmvIsExact) {
  std::vector<Kernel> kernels = printed_vector_kernels();
  kernels.push_back(serial_coo_kernel());
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{3, 0, 40, 1, 7, 700, 0}, {31, 32, 33, 64}, {0, 0}, {5000}}) {
    const Adjacency adj = test::graph_with_lengths(lengths, 6000).to(device());
    const Problem problem = make_problem(Op::kSpmv, adj, DType::kF32, 1,
                                         draw_operand({adj.num_edges()}, 3, DType::kF32, device()));
    for (const Kernel& kernel : kernels) {
      const bench::Run run = kernel.prepare(problem);
      ASSERT_EQ(static_cast<bool>(run), device().is_cuda()) << kernel.name;
      if (run) {
        EXPECT_EQ(verify(kernel, problem, run).text, "") << kernel.name;
      }
    }
  }
}

TEST_P(BenchTextForms, TheSerialKernelIsForFewNonzeros) {
  const Adjacency adj = test::graph_with_lengths({kMostSerial + 1}, kMostSerial + 1).to(device());
  const Problem problem =
      make_problem(Op::kSpmv, adj, DType::kF32, 1, Tensor::zeros({kMostSerial + 1}, DType::kF32, device()));
  EXPECT_FALSE(serial_coo_kernel().prepare(problem));
}

TEST_P(BenchTextForms, OneWriterGivesTheSameCsr) {
  if (!device().is_cuda()) GTEST_SKIP() << "a CUDA kernel";
#if RODEO_WITH_CUDA
  for (const Shape& shape : {Shape{7, 33}, Shape{300, 70}, Shape{3, 4096}, Shape{1, 1}})
    for (const unsigned share : {0U, 3U, 50U, 100U}) {  // of nonzeros, %
      std::vector<float> values(static_cast<std::size_t>(shape.numel()));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = random_word(4, 0, i) % 100 < share ? static_cast<float>(i) + 1 : 0;
      const Tensor x = Tensor::from(values, shape);
      const WeightedAdjacency want = dense_to_csr(x), got = one_writer_dense_to_csr(x.to(device()));
      EXPECT_TRUE(test::same_bits(got.adj.csr().row_ptr.to(kCpu), want.adj.csr().row_ptr))
          << shape << " " << share;
      EXPECT_TRUE(test::same_bits(got.adj.csr().col.to(kCpu), want.adj.csr().col)) << shape << " " << share;
      EXPECT_TRUE(test::same_bits(got.weight.to(kCpu), want.weight)) << shape << " " << share;
    }
#endif
}

}  // namespace
}  // namespace rodeo::bench
