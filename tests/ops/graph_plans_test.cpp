#include "ops/sparse/graph_plans.h"

#include <chrono>
#include <thread>

#include "core/cuda_graph.h"
#include "core/side_stream.h"
#include "core/storage.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsGraphPlansOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
    host_ = graph_with_lengths({5, 0, 300, 17, 40}, kCols);
    adj_ = host_.to(cuda_device());
    busy_ = Tensor::full({8192, 8192}, 1e-3, DType::kF32, cuda_device());
    keep_busy();  // loads the library and the kernels, for which a process waits
    edge_rows(adj_);
    synchronize(cuda_device());
  }
  /// Keeps the calling thread's stream busy for some 100 ms. Returns at once.
  void keep_busy() const {
    for (int i = 0; i < 4; ++i) matmul(busy_, busy_);
  }
  static double ms_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  static constexpr std::int64_t kCols = 90;
  const Device device_ = cuda_device();
  Adjacency host_, adj_;
  Tensor busy_;
};

// The rows of the edges are computed on this thread's stream, behind a long product, and read on another's.
TEST_F(OpsGraphPlansOnGpu, AnotherThreadWaitsForTheValue) {
  const Poisoned poisoned;  // without waiting, the other thread would read NaN bits
  const auto begin = std::chrono::steady_clock::now();
  keep_busy();
  cached_edge_rows(adj_);
  const double enqueued = ms_since(begin);
  std::vector<std::int32_t> rows;
  double read = 0;
  std::thread other([&] {
    rows = cached_edge_rows(adj_).to_vector<std::int32_t>();
    read = ms_since(begin);
  });
  other.join();
  EXPECT_EQ(rows, edge_rows(host_).to_vector<std::int32_t>());
  EXPECT_LT(enqueued, read / 2) << "this thread waited itself, so the test shows nothing";
}

TEST_F(OpsGraphPlansOnGpu, AnotherThreadMayCaptureWithTheValue) {
  const Poisoned poisoned;
  const Tensor out = Tensor::empty({adj_.num_edges()}, DType::kI32, device_);
  keep_busy();
  cached_edge_rows(adj_);
  std::vector<std::int32_t> rows;
  std::thread other([&] {
    const CudaGraph graph = CudaGraph::capture(device_, [&] { out.copy_from(cached_edge_rows(adj_)); });
    graph.launch();
    rows = out.to_vector<std::int32_t>();
  });
  other.join();
  EXPECT_EQ(rows, edge_rows(host_).to_vector<std::int32_t>());
}

// The work of another framework's capture has not run yet: the value is still made on the first stream.
TEST_F(OpsGraphPlansOnGpu, AThreadAfterACaptureOfAnotherFrameworkWaitsForTheValue) {
  const Poisoned poisoned;
  const Tensor out = Tensor::empty({adj_.num_edges()}, DType::kI32, device_);
  const SideStream side(device_);
  side.run([&] { CudaGraph::capture(device_, [&] { out.copy_from(edge_rows(adj_)); }); });  // loads kernels
  synchronize(device_);
  keep_busy();
  cached_edge_rows(adj_);
  std::thread([&] {
    side.run([&] { CudaGraph::capture(device_, [&] { out.copy_from(cached_edge_rows(adj_)); }); });
  }).join();
  std::vector<std::int32_t> rows;
  std::thread([&] { rows = cached_edge_rows(adj_).to_vector<std::int32_t>(); }).join();
  EXPECT_EQ(rows, edge_rows(host_).to_vector<std::int32_t>());
}

// The value is made on one stream, read on a second one behind a long product, and the graph dropped. What a
// third one allocates must not be the memory that is still to be read.
TEST_F(OpsGraphPlansOnGpu, MemoryOfADroppedGraphIsNotReusedWhileItIsRead) {
  const Tensor out = Tensor::empty({adj_.num_edges()}, DType::kI32, device_);
  Adjacency dropped = host_.to(device_);
  synchronize(device_);
  std::thread([&] {
    cached_edge_rows(dropped);
    synchronize(device_);
  }).join();
  cached_edge_rows(dropped);
  keep_busy();
  out.copy_from(cached_edge_rows(dropped));
  dropped = {};
  std::thread([&] {
    std::vector<Tensor> others;
    for (int i = 0; i < 64; ++i) others.push_back(Tensor::full({adj_.num_edges()}, -1, DType::kI32, device_));
    synchronize(device_);
  }).join();
  EXPECT_EQ(out.to_vector<std::int32_t>(), edge_rows(host_).to_vector<std::int32_t>());
}

TEST_F(OpsGraphPlansOnGpu, ThreadsTakeTurns) {
  const Tensor x = random_tensor({kCols, 24}, DType::kF32, device_);
  const Tensor want = spmm(adj_, x, {SpmmAlgorithm::kRode});
  synchronize(device_);
  for (int turn = 0; turn < 4; ++turn) {
    Tensor got;
    std::thread other([&] {
      got = spmm(adj_, x, {SpmmAlgorithm::kRode}).to(kCpu);
      spmm(adj_, x, {SpmmAlgorithm::kCusparse});
    });
    other.join();
    EXPECT_TRUE(same_bits(got, want));
    EXPECT_TRUE(same_bits(spmm(adj_, x, {SpmmAlgorithm::kRode}), want));
    spmm(adj_, x, {SpmmAlgorithm::kCusparse});
  }
}

TEST_F(OpsGraphPlansOnGpu, ValuesThatAreKeptAreNotMadeInACapture) {
  const Tensor x = random_tensor({kCols, 24}, DType::kF32, device_),
               weight = random_tensor({362}, DType::kF32, device_);
  const SpmmOptions cusparse{SpmmAlgorithm::kCusparse};
  const auto capture = [&](const std::function<Tensor()>& work) {
    Tensor y;
    const CudaGraph graph = CudaGraph::capture(device_, [&] { y = work(); });
    graph.launch();
    return y.to(kCpu);
  };
  const std::string refused =
      "[cuda_graph] the work cannot be captured: [spmm] cusparse cannot prepare a graph during CUDA graph "
      "capture: "
      "run the work once before capturing";
  EXPECT_ERROR(capture([&] { return spmm(adj_, weight, x, cusparse); }), refused);
  const Sums want = spmm_reference(host_, weight, x);
  EXPECT_TRUE(near(spmm(adj_, weight, x, cusparse), want.y, 1e-5, 1e-7, want.scale));
  EXPECT_TRUE(near(capture([&] { return spmm(adj_, weight, x, cusparse); }), want.y, 1e-5, 1e-7, want.scale));
  EXPECT_ERROR(capture([&] { return spmm(adj_, x, cusparse); }), refused) << "the array of ones";
  const Tensor wide = random_tensor({kCols, 32}, DType::kF32, device_);
  EXPECT_ERROR(capture([&] { return spmm(adj_, weight, wide, cusparse); }), refused) << "another width";
  spmm(adj_, x);  // makes RoDe's plan
  EXPECT_ERROR(
      capture([&] { return spmm(adj_, x, {.reduce = Reduce::kMean}); }),
      "[cuda_graph] the work cannot be captured: [spmm] the row lengths of a mean cannot be computed during "
      "CUDA graph capture: run the work once before capturing");
}

}  // namespace
}  // namespace rodeo::test
