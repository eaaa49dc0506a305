// Every collective against what one rank computes from the inputs of all ranks.
#include "core/communicator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <numeric>

#include "core/category_timer.h"
#include "core/cuda_graph.h"
#include "core/device.h"
#include "core/node_partition.h"
#include "tests/ranks/ranks.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

using Rows = std::vector<std::int64_t>;

constexpr DType kAll[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kF16,
                          DType::kI64, DType::kI32, DType::kU8};

/// The input of a rank. Integers have all their bits, so that sums wrap around.
Tensor input(const Shape& shape, DType dtype, int rank, int seed = 0) {
  const auto number = static_cast<std::uint64_t>(1000 * seed + rank + 1);
  if (is_float(dtype)) return random_tensor(shape, dtype, kCpu, number);
  const Tensor x = Tensor::empty(shape, dtype);
  auto* bytes = static_cast<std::uint8_t*>(x.raw());
  std::uint64_t state = number;
  for (std::int64_t i = 0; i < x.nbytes(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<std::uint8_t>(state >> 56);
  }
  return x;
}

/// The rank's input on the device of the tests.
Tensor own_input(const Shape& shape, DType dtype, int seed = 0) {
  return input(shape, dtype, ranks().rank(), seed).to(device()).clone();
}

/// The reduction over all ranks, written as the contract says it.
Tensor reduced(const Shape& shape, DType dtype, Reduction reduction, int seed = 0) {
  const Tensor out = input(shape, dtype, 0, seed).clone();
  dispatch_all(dtype, [&]<class T>(T) {
    T* y = out.data<T>();
    std::vector<Tensor> inputs;
    for (int r = 0; r < ranks().size(); ++r) inputs.push_back(input(shape, dtype, r, seed));
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      if constexpr (sizeof(T) == 2 || std::is_floating_point_v<T>) {
        using Acc = std::conditional_t<std::is_same_v<T, double>, double, float>;
        Acc value = static_cast<Acc>(y[i]);
        for (int r = 1; r < ranks().size(); ++r) {
          const Acc other = static_cast<Acc>(inputs[static_cast<std::size_t>(r)].data<T>()[i]);
          value = reduction == Reduction::kSum ? value + other : std::max(value, other);
        }
        y[i] = T(value);
      } else {
        for (int r = 1; r < ranks().size(); ++r) {
          const T other = inputs[static_cast<std::size_t>(r)].data<T>()[i];
          const auto sum = static_cast<std::uint64_t>(y[i]) + static_cast<std::uint64_t>(other);
          y[i] = reduction == Reduction::kSum ? static_cast<T>(sum) : std::max(y[i], other);
        }
      }
    }
  });
  return out;
}

/// Ranks that arrive late in another order each time.
void arrive_late(int run) {
  usleep(static_cast<useconds_t>((ranks().rank() * 7 + run * 5) % 4 * 500));
}

TEST(CoreRanks, KnowTheirNumber) {
  RODEO_NEEDS_TWO_RANKS();
  std::cout << "ranks: " << ranks().size() << " by " << ranks().backend() << " on " << device() << std::endl;
  EXPECT_TRUE(ranks().backend() == "mpi" || ranks().backend() == "tcp") << ranks().backend();
  const Tensor all = ranks().all_gather(Tensor::full({1}, ranks().rank(), DType::kI32, device())).to(kCpu);
  for (int r = 0; r < ranks().size(); ++r) EXPECT_EQ(all.data<std::int32_t>()[r], r);
}

TEST(CoreRanks, NodesBeginAtMultiplesWhereThereAreSome) {
  RODEO_NEEDS_TWO_RANKS();
  Rows rows(static_cast<std::size_t>(ranks().size()));
  rows[0] = 10;  // the others have none
  const NodePartition first(ranks(), rows);
  EXPECT_EQ(first.num_nodes(), 10);
  EXPECT_EQ(first.first_row(), ranks().rank() == 0 ? 0 : 10);
  rows[1] = 4;
  EXPECT_ERROR(
      NodePartition(ranks(), rows),
      "[node_partition] the first node of a rank must be a multiple of 4, got 10 for rank 1: cut the "
      "rows at multiples of 4");
}

TEST(CoreRanks, AllReduceHasTheBitsOfTheContract) {
  for (const DType dtype : kAll)
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax})
      for (const Shape& shape :
           {Shape{}, Shape{1}, Shape{3}, Shape{0, 5}, Shape{37, 5}, Shape{2, 3, 5, 7}, Shape{20000}}) {
        const Tensor x = own_input(shape, dtype);
        ranks().all_reduce(x, reduction);
        EXPECT_TRUE(same_bits(x, reduced(shape, dtype, reduction))) << dtype << " " << shape;
      }
}

TEST(CoreRanks, TwentyRunsHaveTheSameBits) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Tensor want = reduced({4001}, dtype, Reduction::kSum);
    for (int run = 0; run < 20; ++run) {
      const Tensor x = own_input({4001}, dtype);
      arrive_late(run);
      ranks().all_reduce(x);
      EXPECT_TRUE(same_bits(x, want)) << run;
    }
  }
}

TEST(CoreRanks, MaxOfNanIsNan) {
  const int last = ranks().size() - 1;
  const float nan = std::numeric_limits<float>::quiet_NaN(), own = static_cast<float>(ranks().rank());
  const Tensor x = Tensor::from(
      std::vector<float>{ranks().rank() == 0 ? nan : own, ranks().rank() == last ? nan : own, own}, device());
  ranks().all_reduce(x, Reduction::kMax);
  const std::vector<float> best = x.to_vector<float>();
  EXPECT_TRUE(std::isnan(best[0]));
  EXPECT_TRUE(std::isnan(best[1]));
  EXPECT_EQ(best[2], static_cast<float>(last));
}

/// Rows of each rank: one rank has none.
Rows uneven_rows() {
  Rows rows;
  for (int r = 0; r < ranks().size(); ++r) rows.push_back(r == 1 ? 0 : 3 + 2 * r);
  return rows;
}

TEST(CoreRanks, AllGather) {
  const auto own = static_cast<std::size_t>(ranks().rank());
  for (const DType dtype : kAll)
    for (const Rows& rows : {uneven_rows(), Rows(uneven_rows().size(), 4), Rows(uneven_rows().size(), 0)}) {
      const bool equal = rows[0] == rows[1];
      const Tensor x = own_input({rows[own], 3}, dtype);
      const Tensor all = equal ? ranks().all_gather(x) : ranks().all_gather(x, rows);
      std::int64_t begin = 0;
      for (std::size_t r = 0; r < rows.size(); begin += rows[r++])
        EXPECT_TRUE(
            same_bits(all.slice(begin, begin + rows[r]), input({rows[r], 3}, dtype, static_cast<int>(r))))
            << dtype << " of rank " << r;
      EXPECT_EQ(all.shape(), (Shape{begin, 3}));
    }
}

TEST(CoreRanks, ReduceScatter) {
  for (const DType dtype : kAll)
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax})
      for (const Rows& rows : {uneven_rows(), Rows(uneven_rows().size(), 4), Rows(uneven_rows().size(), 0)}) {
        const std::int64_t sum = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
        const Tensor x = own_input({sum, 3}, dtype);
        const Tensor mine = rows[0] == rows[1] ? ranks().reduce_scatter(x, reduction)
                                               : ranks().reduce_scatter(x, rows, reduction);
        const std::int64_t begin =
            std::accumulate(rows.begin(), rows.begin() + ranks().rank(), std::int64_t{0});
        const std::int64_t end = begin + rows[static_cast<std::size_t>(ranks().rank())];
        EXPECT_TRUE(same_bits(mine, reduced({sum, 3}, dtype, reduction).slice(begin, end))) << dtype;
      }
}

TEST(CoreRanks, AllToAll) {
  const int size = ranks().size(), rank = ranks().rank();
  const auto rows_between = [](int from, int to) { return std::int64_t{(from * 3 + to * 2) % 5}; };
  const auto rows_of = [&](int from) {
    Rows rows;
    for (int to = 0; to < size; ++to) rows.push_back(rows_between(from, to));
    return rows;
  };
  for (const DType dtype : kAll) {
    Rows receive_rows;
    for (int from = 0; from < size; ++from) receive_rows.push_back(rows_between(from, rank));
    const Rows send_rows = rows_of(rank);
    const auto sum = [](const Rows& rows, int end) {
      return std::accumulate(rows.begin(), rows.begin() + end, std::int64_t{0});
    };
    const Tensor out =
        ranks().all_to_all(own_input({sum(send_rows, size), 2, 3}, dtype), send_rows, receive_rows);
    for (int from = 0; from < size; ++from) {
      const Rows theirs = rows_of(from);
      const Tensor sent = input({sum(theirs, size), 2, 3}, dtype, from);
      EXPECT_TRUE(same_bits(out.slice(sum(receive_rows, from), sum(receive_rows, from + 1)),
                            sent.slice(sum(theirs, rank), sum(theirs, rank + 1))))
          << dtype << " from rank " << from;
    }
    const Tensor equal = ranks().all_to_all(own_input({2 * size, 5}, dtype));
    for (int from = 0; from < size; ++from)
      EXPECT_TRUE(same_bits(equal.slice(2 * from, 2 * from + 2),
                            input({2 * size, 5}, dtype, from).slice(2 * rank, 2 * rank + 2)));
  }
}

TEST(CoreRanks, Broadcast) {
  for (const DType dtype : kAll)
    for (int root = 0; root < ranks().size(); ++root)
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{7, 3}}) {
        const Tensor x = own_input(shape, dtype);
        ranks().broadcast(x, root);
        EXPECT_TRUE(same_bits(x, input(shape, dtype, root))) << dtype << " " << shape;
      }
}

TEST(CoreRanks, ViewsAreSentWithoutTheirSurroundings) {
  RODEO_NEEDS_TWO_RANKS();
  const Tensor whole = Tensor::full({9, 2}, ranks().rank(), DType::kF32, device());
  ranks().all_reduce(whole.slice(3, 6));
  ranks().broadcast(whole.slice(8, 9), 1);
  const float own = static_cast<float>(ranks().rank());
  const float sum = static_cast<float>(ranks().size() * (ranks().size() - 1) / 2);
  EXPECT_EQ(whole.to_vector<float>(), (std::vector<float>{own, own, own, own, own, own, sum, sum, sum, sum,
                                                          sum, sum, own, own, own, own, 1, 1}));
}

TEST(CoreRanks, LongTensorsAreSentInSeveralMessages) {
  CommunicatorOptions options;
  options.max_message_bytes = 24;  // no multiple of a row
  const Communicator split(options);
  const Tensor x = own_input({101, 5}, DType::kF32);
  const Tensor all = split.all_gather(x);
  for (int r = 0; r < split.size(); ++r)
    EXPECT_TRUE(same_bits(all.slice(r * 101, r * 101 + 101), input({101, 5}, DType::kF32, r)));
  split.all_reduce(x);
  EXPECT_TRUE(same_bits(x, reduced({101, 5}, DType::kF32, Reduction::kSum)));
}

TEST(CoreRanks, BarrierWaitsForAll) {
  const Tensor before = Tensor::full({1}, 0, DType::kI32, device());
  usleep(static_cast<useconds_t>(ranks().rank()) * 20000);
  before.fill(ranks().rank() + 1);
  ranks().barrier();
  ranks().all_reduce(before, Reduction::kMax);
  EXPECT_EQ(before.item(), ranks().size());
}

// All ranks get the same text, and the next call works.
TEST(CoreRanks, CallsThatDifferAreTheSameErrorOnAllRanks) {
  RODEO_NEEDS_TWO_RANKS();
  const bool first = ranks().rank() == 0, second = ranks().rank() == 1;
  const auto size = static_cast<std::size_t>(ranks().size());
  const auto zeros = [](const Shape& shape, DType dtype = DType::kF32) {
    return Tensor::zeros(shape, dtype, device());
  };
  EXPECT_ERROR(ranks().all_reduce(zeros({4, second ? 6 : 5})),
               "[all_reduce] rank 0 has f32 [4, 5], rank 1 has f32 [4, 6]: dtypes and shapes must be equal");
  EXPECT_ERROR(ranks().broadcast(zeros({4}, first ? DType::kF32 : DType::kF16)),
               "[broadcast] rank 0 has f32 [4], rank 1 has f16 [4]: dtypes and shapes must be equal");
  EXPECT_ERROR(ranks().all_reduce(zeros({4}), second ? Reduction::kMax : Reduction::kSum),
               "[all_reduce] rank 0 computes the sum, rank 1 the max");
  EXPECT_ERROR(ranks().broadcast(zeros({4}), second ? 1 : 0),
               "[broadcast] rank 0 names root 0, rank 1 names root 1");
  EXPECT_ERROR(ranks().all_gather(zeros({second ? 5 : 3, 2})),
               "[all_gather] rank 0 counts 3 rows for rank 1, rank 1 counts 5");
  EXPECT_ERROR(
      ranks().all_gather(zeros({3, second ? 1 : 2})),
      "[all_gather] rank 0 has f32 [3, 2], rank 1 has f32 [3, 1]: dtypes and shapes must be equal but for "
      "the number of rows");
  Rows sent(size, 2), expected(size, 2);
  if (second) expected[0] = 3;
  EXPECT_ERROR(ranks().all_to_all(zeros({2 * ranks().size()}), sent, expected),
               "[all_to_all] rank 0 sends 2 rows to rank 1, which expects 3");
  EXPECT_ERROR(
      second ? ranks().barrier() : ranks().all_reduce(zeros({4})),
      "[communicator] rank 0 calls all_reduce, rank 1 calls barrier: all ranks must make the same calls in "
      "the same order");
  const Tensor x = Tensor::full({2}, 1, DType::kF32, device());
  ranks().all_reduce(x);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(2, static_cast<float>(size)));
}

TEST(CoreRanks, LargeTensorsHaveTheBitsOfTheContract) {
  for (const std::int64_t n : {std::int64_t{200003}, std::int64_t{1} << 18})
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const Tensor x = own_input({n}, dtype);
      ranks().all_reduce(x);
      EXPECT_TRUE(same_bits(x.to(kCpu), reduced({n}, dtype, Reduction::kSum))) << dtype << " " << n;
    }
}

/// The names of the collective kernels that run while it is registered.
struct Names : KernelObserver {
  std::vector<std::string> names;
  void before(const KernelCallInfo& call) override {
    if (call.category == KernelCategory::kCommunication) names.push_back(call.op);
  }
  void after(const KernelCallInfo&) override {}
};

TEST(CoreRanks, AreObservedAsCommunication) {
  RODEO_NEEDS_TWO_RANKS();
  Names names;
  CategoryTimer timer(device());
  {
    const ScopedKernelObserver first(names), second(timer);
    ranks().all_reduce(own_input({1000, 7}, DType::kF32));
    ranks().all_gather(own_input({5}, DType::kI64));
    synchronize(device());
  }
  EXPECT_EQ(names.names, (std::vector<std::string>{"all_reduce", "all_gather"}));
  EXPECT_GT(timer.milliseconds(KernelCategory::kCommunication), 0);
}

// One graph with all collectives, replayed with other values.
TEST(CoreRanks, CollectivesAreCapturedInACudaGraph) {
  RODEO_NEEDS_TWO_RANKS();
  if (!device().is_cuda()) GTEST_SKIP() << "CUDA graphs need a GPU";
  const int size = ranks().size();
  const Tensor x = own_input({3 * size, 5}, DType::kF32), large = own_input({300001}, DType::kF32);
  Tensor gathered, scattered, exchanged, sum, large_sum;
  const auto work = [&] {
    gathered = ranks().all_gather(x);
    scattered = ranks().reduce_scatter(x);
    exchanged = ranks().all_to_all(x);
    sum = x.clone();
    ranks().all_reduce(sum);
    large_sum = large.clone();
    ranks().all_reduce(large_sum);
    ranks().broadcast(gathered.slice(0, 1), 1);
  };
  work();
  const CudaGraph graph = CudaGraph::capture(device(), work);
  for (int seed = 1; seed < 6; ++seed) {
    x.copy_from(own_input({3 * size, 5}, DType::kF32, seed));
    large.copy_from(own_input({300001}, DType::kF32, seed));
    graph.launch();
    const int rank = ranks().rank();
    EXPECT_TRUE(same_bits(sum.to(kCpu), reduced({3 * size, 5}, DType::kF32, Reduction::kSum, seed)));
    EXPECT_TRUE(same_bits(large_sum.to(kCpu), reduced({300001}, DType::kF32, Reduction::kSum, seed)));
    EXPECT_TRUE(
        same_bits(scattered.to(kCpu),
                  reduced({3 * size, 5}, DType::kF32, Reduction::kSum, seed).slice(3 * rank, 3 * rank + 3)));
    for (int r = 0; r < size; ++r) {
      const Tensor theirs = input({3 * size, 5}, DType::kF32, r, seed);
      EXPECT_TRUE(
          same_bits(exchanged.slice(3 * r, 3 * r + 3).to(kCpu), theirs.slice(3 * rank, 3 * rank + 3)));
      const std::int64_t begin = 3 * size * r, skipped = r == 0 ? 1 : 0;
      EXPECT_TRUE(same_bits(gathered.slice(begin + skipped, begin + 3 * size).to(kCpu),
                            theirs.slice(skipped, 3 * size)));
    }
  }
}

}  // namespace
}  // namespace rodeo::test
