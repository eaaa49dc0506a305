#include "ops/spmv.h"

#include <cstring>

#include "core/cuda_graph.h"
#include "ops/convert.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/spmv_plan.h"
#include "ops/segment_sum.h"
#include "ops/sparse/graph_plans.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSpmv : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSpmv);

constexpr SpmvAlgorithm kAlgorithms[] = {SpmvAlgorithm::kAuto, SpmvAlgorithm::kVector, SpmvAlgorithm::kRode,
                                         SpmvAlgorithm::kStream, SpmvAlgorithm::kSegmented};
// Every algorithm, and kVector with every number of threads.
const std::vector<SpmvOptions>& all_options() {
  static const std::vector<SpmvOptions> options = [] {
    std::vector<SpmvOptions> all;
    for (const SpmvAlgorithm algorithm : kAlgorithms) all.push_back({algorithm});
    for (const int threads : {2, 4, 8, 16, 32}) all.push_back({SpmvAlgorithm::kVector, threads});
    return all;
  }();
  return options;
}

// Terms in edge order, summed by row.
Sums sum_by_row(const std::vector<std::int64_t>& row, const std::vector<double>& term, std::int64_t rows) {
  Sums out{std::vector<double>(static_cast<std::size_t>(rows)), {}};
  out.scale = out.y;
  for (std::size_t e = 0; e < row.size(); ++e) {
    out.y[row[e]] += term[e];
    out.scale[row[e]] += std::abs(term[e]);
  }
  return out;
}

std::vector<std::int64_t> rows_of(const Adjacency& adj) {
  return edge_rows(adj).to(DType::kI64).to_vector<std::int64_t>();
}

std::vector<double> terms(const Adjacency& adj, const Tensor& weight, const Tensor& x) {
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  const std::vector<double> w = weight.defined() ? doubles(weight) : std::vector<double>(col.size(), 1),
                            xs = doubles(x);
  std::vector<double> out(col.size());
  for (std::size_t e = 0; e < col.size(); ++e) out[e] = w[e] * xs[col[e]];
  return out;
}

// What the shared cases do not have: boundaries at every place of a step, an interval and a list of
// intervals.
const std::vector<SparseCase>& segment_cases() {
  static const std::vector<SparseCase> cases = [] {
    std::vector<SparseCase> out = sparse_cases();
    const auto add = [&](const char* name, std::vector<std::int64_t> lengths) {
      out.push_back({name, [=] { return graph_with_lengths(lengths, 1000); }});
    };
    std::vector<std::int64_t> mixed, gaps(200000, 0), steps, few_columns, many_long;
    for (std::int64_t i = 0; i < 605; ++i) many_long.push_back(i % 5 == 4 ? 300 : i % 2);
    for (std::int64_t i = 0; i < 4000; ++i) few_columns.push_back(i % 101);
    for (std::int64_t i = 0; i < 3000; ++i) mixed.push_back(i * i % 97 == 0 ? 700 : i % 7);
    for (std::size_t i = 0; i < gaps.size(); i += 997) gaps[i] = static_cast<std::int64_t>(i % 5);
    for (std::int64_t i = 0; i < 70; ++i) steps.insert(steps.end(), {i, 64 - i % 64});
    add("mixed_lengths", mixed);
    add("few_columns", few_columns);
    add("many_long_rows", many_long);
    add("huge_row", {1, 40000, 2, 0, 300});
    add("mostly_empty_rows", gaps);
    add("boundaries_at_every_lane", steps);
    add("rows_of_one_edge", std::vector<std::int64_t>(40000, 1));
    add("rows_of_an_interval", std::vector<std::int64_t>(40, 256));
    add("hubs_side_by_side", {0, 300000, 0, 0, 300001, 1, 255, 299999, 0});
    for (const std::int64_t edges : {31, 32, 33, 1023, 1024, 1025, 1279, 1280, 1281}) add("one_row", {edges});
    // Cases of SpmvTiles: rows just under, at and over what is cut, cuts at every place of a tile.
    constexpr SpmvTileSize kSize{SpmvTileSize::kMany};
    constexpr std::int64_t kFew = SpmvTileSize::kFew, kLong = kSize.long_row(), kStride = kSize.stride();
    for (const std::int64_t length :
         {kFew, kFew + 1, kLong - 1, kLong, kLong + 1, kStride - 1, kStride, kStride + 1, 2 * kStride})
      add("rows_of_a_tile", {3, length, 0, 0, length, 1, length, 5});
    std::vector<std::int64_t> drift(300, kLong + 1), short_drift(3000, 9);
    for (std::size_t i = 0; i < drift.size(); i += 7) drift[i] = static_cast<std::int64_t>(i % 50);
    for (std::size_t i = 0; i < short_drift.size(); i += 50) short_drift[i] = 200;
    add("cuts_inside_rows", drift);
    add("long_rows_among_short_ones", short_drift);
    add("empty_rows_after_a_long_one", {5000, 0, 0, 0, 0});
    return out;
  }();
  return cases;
}

TEST_P(OpsSpmv, AllCasesAndTypes) {
  for (const SparseCase& sparse_case : segment_cases()) {
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    const std::vector<std::int64_t> row = rows_of(host);
    for (const DType dtype : kFloats) {
      const Tensor x = random_tensor({host.cols()}, dtype, kCpu, 3),
                   weight = random_tensor({host.num_edges()}, dtype, kCpu, 4);
      const Tensor x_there = x.to(device()), weight_there = weight.to(device());
      const Poisoned poisoned;
      for (const bool weighted : {false, true}) {
        const Sums want = sum_by_row(row, terms(host, weighted ? weight : Tensor(), x), host.rows());
        for (const SpmvOptions& options : all_options()) {
          const auto run = [&] {
            return weighted ? spmv(adj, weight_there, x_there, options) : spmv(adj, x_there, options);
          };
          const std::string what = str(sparse_case.name, " ", host.num_edges(), " edges ", dtype,
                                       weighted ? " weighted " : " ", options);
          const Tensor y = run();
          ASSERT_EQ(y.dtype(), dtype) << what;
          ASSERT_TRUE(near(y, want.y, sum_tolerance(dtype), 1e-7, want.scale)) << what;
          for (int i = 0; i < 3; ++i) ASSERT_TRUE(same_bits(y, run())) << what;
        }
      }
    }
  }
}

// Columns, weights and x that 16-byte loads cannot read, and rows that end at the last element.
TEST_P(OpsSpmv, SlicedOperandsAreNotAligned) {
  const Adjacency whole = graph_with_lengths({7, 40, 0, 3000, 1, 600, 2}, 100);
  const std::int64_t edges = whole.num_edges();
  for (const DType dtype : kFloats)
    for (const std::int64_t skip : {1, 3}) {
      const auto sliced = [&](const Tensor& values) {
        const Tensor longer = Tensor::zeros({values.numel() + skip}, values.dtype(), kCpu);
        std::memcpy(
            static_cast<char*>(longer.raw()) + skip * static_cast<std::int64_t>(size_of(values.dtype())),
            values.raw(), static_cast<std::size_t>(values.numel()) * size_of(values.dtype()));
        return longer.to(device()).slice(skip, skip + values.numel());
      };
      const Tensor x = random_tensor({100}, dtype, kCpu, 3), weight = random_tensor({edges}, dtype, kCpu, 4);
      const Adjacency adj(
          {whole.rows(), whole.cols(), whole.csr().row_ptr.to(device()), sliced(whole.csr().col)});
      const Tensor x_there = sliced(x), weight_there = sliced(weight);
      for (const bool weighted : {false, true}) {
        const Sums want =
            sum_by_row(rows_of(whole), terms(whole, weighted ? weight : Tensor(), x), whole.rows());
        for (const SpmvOptions& options : all_options())
          EXPECT_TRUE(near(weighted ? spmv(adj, weight_there, x_there, options) : spmv(adj, x_there, options),
                           want.y, sum_tolerance(dtype), 1e-7, want.scale))
              << options << " " << dtype << " " << skip;
      }
    }
}

TEST_P(OpsSpmv, RealTopologies) {
  int found = 0;
  for (const char* name : {"soc-Slashdot0902", "soc-Epinions1", "email-Enron", "p2p-Gnutella31"}) {
    const std::string path = shared_data(str("topology/", name, ".h5"));
    if (path.empty()) continue;
    ++found;
    const Adjacency host = load_topology(path), adj = host.to(device());
    const Tensor x = random_tensor({host.cols()}, DType::kF32, kCpu, 3);
    const Sums want = sum_by_row(rows_of(host), terms(host, {}, x), host.rows());
    for (const SpmvOptions& options : all_options())
      EXPECT_TRUE(near(spmv(adj, x.to(device()), options), want.y, 1e-5, 1e-7, want.scale))
          << name << " " << options;
  }
  if (found == 0) GTEST_SKIP() << "shared data folder not found (RODEO_SHARED_DATA)";
}

TEST_P(OpsSpmv, LongRowsDoNotLoseTheirTerms) {
  constexpr std::int64_t kEdges = 1 << 22;  // a plain f32 sum of 0.1 is 4 % off
  const Adjacency adj = graph_with_lengths({1, kEdges, 1}, 8).to(device());
  const Tensor x = Tensor::full({8}, 0.1, DType::kF32, device());
  const double want = static_cast<double>(0.1f) * kEdges;
  for (const SpmvAlgorithm algorithm : kAlgorithms)
    EXPECT_NEAR(doubles(spmv(adj, x, {algorithm}))[1], want, 1e-3 * want) << algorithm;
}

// RoDe's kernel for graphs that fill a GPU.
TEST_P(OpsSpmv, ManyEdges) {
  const std::int64_t rows = 4096, degree = 1025;
  ASSERT_TRUE(reads_x_in_turn(rows * degree));
  std::vector<std::int64_t> row_ptr;
  std::vector<std::int32_t> col;
  std::vector<float> weights, xs;
  for (std::int64_t row = 0; row < rows; ++row) {
    row_ptr.push_back(row * degree);
    xs.push_back(static_cast<float>(row % 61) - 30);
    for (std::int64_t k = 0; k < degree; ++k) {
      col.push_back(static_cast<std::int32_t>((7 * row + 3 * k) % rows));
      weights.push_back(static_cast<float>((row + k) % 5) - 2);
    }
  }
  row_ptr.push_back(rows * degree);
  const Adjacency adj({rows, rows, Tensor::from(row_ptr, device()), Tensor::from(col, device())});
  const Tensor x = Tensor::from(xs, device()), weight = Tensor::from(weights, device());
  std::vector<double> sums, weighted;  // of integers below 2^24: exact in f32
  for (std::int64_t row = 0; row < rows; ++row) {
    sums.push_back(0), weighted.push_back(0);
    for (auto e = static_cast<std::size_t>(row * degree); e < static_cast<std::size_t>((row + 1) * degree);
         ++e) {
      const auto value = static_cast<double>(xs[static_cast<std::size_t>(col[e])]);
      sums.back() += value, weighted.back() += value * static_cast<double>(weights[e]);
    }
  }
  EXPECT_EQ(doubles(spmv(adj, x, {SpmvAlgorithm::kRode})), sums);
  EXPECT_EQ(doubles(spmv(adj, weight, x, {SpmvAlgorithm::kRode})), weighted);
}

TEST_P(OpsSpmv, InfinityAndNanPropagateAlongEdgesOnly) {
  const Adjacency adj = graph_with_lengths({0, 1, 1, 40, 2}, 1).to(device());
  const Adjacency far = Adjacency({3, 2, Tensor::from(std::vector<std::int64_t>{0, 1, 2, 2}),
                                   Tensor::from(std::vector<std::int32_t>{0, 1})})
                            .to(device());
  for (const SpmvAlgorithm algorithm : kAlgorithms) {
    const auto y =
        spmv(far, Tensor::from(std::vector<float>{NAN, 1}, device()), {algorithm}).to_vector<float>();
    EXPECT_TRUE(std::isnan(y[0])) << algorithm;
    EXPECT_EQ(y[1], 1) << algorithm;
    EXPECT_EQ(y[2], 0) << algorithm;
    const auto inf = spmv(adj, Tensor::full({1}, INFINITY, DType::kF32, device()), {algorithm});
    EXPECT_EQ(inf.to_vector<float>(), (std::vector<float>{0, INFINITY, INFINITY, INFINITY, INFINITY}));
  }
}

TEST_P(OpsSpmv, Gradients) {
  const Adjacency adj = graph_with_lengths({0, 3, 40, 1, 0, 600}, 9).to(device());
  const Adjacency small = graph_with_lengths({0, 3, 40, 1, 0}, 7).to(device());
  for (const SpmvOptions& options : all_options()) {
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmv(adj, in[0], options); },
                             {random_variable({9}, device())}));
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmv(small, in[0], in[1], options); },
                             {random_variable({44}, device()), random_variable({7}, device(), 2)}));
  }
}

TEST_P(OpsSpmv, OneColumnOfSpmm) {
  const Adjacency adj = graph_with_lengths({0, 3, 40, 1, 0, 60000}, 9).to(device());
  const Tensor x = random_tensor({9}, DType::kF32, device()),
               weight = random_tensor({adj.num_edges()}, DType::kF32, device(), 2);
  EXPECT_TRUE(same_bits(spmm(adj, x.reshape({9, 1})), spmv(adj, x).reshape({6, 1})));
  EXPECT_TRUE(same_bits(spmm(adj, weight, x.reshape({9, 1})), spmv(adj, weight, x).reshape({6, 1})));
  const Adjacency small = graph_with_lengths({0, 3, 40, 1, 0}, 7).to(device());
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmm(small, in[0], in[1]); },
                           {random_variable({44}, device()), random_variable({7, 1}, device(), 2)}));
  EXPECT_EQ(
      spmm(graph_with_lengths({}, 7).to(device()), Tensor::zeros({7, 1}, DType::kF32, device())).shape(),
      (Shape{0, 1}));
}

TEST_P(OpsSpmv, RowLengthsAndChoice) {
  const Adjacency adj = graph_with_lengths({3, 0, 100000, 5}, 50).to(device());
  EXPECT_EQ(row_lengths(adj).rows, 4);
  EXPECT_EQ(row_lengths(adj).longest, 100000);
  EXPECT_EQ(row_lengths(adj).mean, 25002);
  EXPECT_EQ(choose_spmv_algorithm(adj), device().is_cuda() ? SpmvAlgorithm::kRode : SpmvAlgorithm::kVector);
  EXPECT_EQ(row_lengths(graph_with_lengths({}, 5).to(device())).longest, 0);
  EXPECT_EQ(row_lengths(graph_with_lengths({0, 0}, 5).to(device())).longest, 0);
  std::vector<std::int64_t> many(100000, 2);
  many[77777] = 9;
  EXPECT_EQ(row_lengths(graph_with_lengths(many, 5).to(device())).longest, 9);
}

TEST_P(OpsSpmv, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 3).to(device());
  const Tensor good = Tensor::zeros({3}, DType::kF32, device());
  EXPECT_ERROR(spmv(adj, Tensor::zeros({4}, DType::kF32, device())), "[spmv] x must be [3], got [4]");
  EXPECT_ERROR(spmv(adj, Tensor::zeros({3, 1}, DType::kF32, device())),
               "[spmv] x must be a vector [n], got [3, 1]");
  EXPECT_ERROR(spmv(adj, Tensor::zeros({3}, DType::kI32, device())),
               "[spmv] x must be floating point, got i32");
  EXPECT_ERROR(spmv(adj, Tensor()), "[spmv] x is undefined");
  EXPECT_ERROR(spmv(adj, Tensor(), good), "[spmv] weight is undefined: leave it out for an unweighted sum");
  EXPECT_ERROR(spmv(adj, Tensor::zeros({3}, DType::kF32, device()), good),
               "[spmv] weight must be [4], got [3]");
  EXPECT_ERROR(spmv(adj, Tensor::zeros({4}, DType::kF64, device()), good),
               "[spmv] weight must have the dtype of x, f32, got f64");
  for (const int threads : {-2, 1, 3, 64})
    EXPECT_ERROR(spmv(adj, good, {SpmvAlgorithm::kVector, threads}),
                 str("[spmv] threads_per_vector must be 2, 4, 8, 16 or 32, or 0 for the choice by mean row "
                     "length, got ",
                     threads));
  for (const SpmvAlgorithm algorithm : {SpmvAlgorithm::kAuto, SpmvAlgorithm::kRode})
    EXPECT_ERROR(spmv(adj, good, {algorithm, 8}),
                 str("[spmv] threads_per_vector is an option of the vector algorithm, got ", algorithm,
                     ": set algorithm to kVector or threads_per_vector to 0"));
}

TEST_P(OpsSpmv, ThreadsPerVectorChangeTheOrderOfAdditions) {
  if (!device().is_cuda()) GTEST_SKIP() << "the CPU takes one thread a row";
  const Adjacency adj = graph_with_lengths(std::vector<std::int64_t>(100, 64), 1000).to(device());
  const Tensor x = random_tensor({1000}, DType::kF32, device());
  for (const int threads : {2, 4, 8, 32})
    EXPECT_FALSE(
        same_bits(spmv(adj, x, {SpmvAlgorithm::kVector, threads}), spmv(adj, x, {SpmvAlgorithm::kVector})))
        << threads;
  EXPECT_TRUE(same_bits(spmv(adj, x, {SpmvAlgorithm::kVector, 16}), spmv(adj, x, {SpmvAlgorithm::kVector})));
}

TEST_P(OpsSpmv, TilesCoverEveryNonzeroOnce) {
  for (const SparseCase& sparse_case : segment_cases())
    for (const int threads : {SpmvTileSize::kFew, SpmvTileSize::kMany}) {
      const Adjacency host = sparse_case.make();
      const std::string what = str(sparse_case.name, " ", threads, " threads");
      const SpmvTileSize size{threads};
      const auto row_ptr = host.csr().row_ptr.to_vector<std::int64_t>();
      const SpmvTiles tiles = kernels::spmv_tiles.on(device())(host.to(device()).csr(), size);
      const auto begin = tiles.begin.to_vector<std::int64_t>(), row = tiles.row.to_vector<std::int64_t>();
      ASSERT_EQ(tiles.num_tiles(), size.count(host.rows(), host.num_edges())) << what;
      ASSERT_EQ(begin.front(), 0) << what;
      ASSERT_EQ(row.front(), 0) << what;
      ASSERT_EQ(begin.back(), host.num_edges()) << what;
      ASSERT_EQ(row.back(), host.rows()) << what;
      for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
        const std::int64_t nonzeros = begin[i + 1] - begin[i], rows = row[i + 1] - row[i];
        ASSERT_GE(nonzeros, 0) << what << ", tile " << i;
        ASSERT_GE(rows, 0) << what << ", tile " << i;
        ASSERT_LE(nonzeros + rows, size.max_items()) << what << ", tile " << i;
        ASSERT_LE(begin[i], row_ptr[row[i]]) << what << ", tile " << i;
        if (begin[i] == row_ptr[row[i]]) continue;
        const std::int64_t cut_row = row[i] - 1;  // the tile begins inside of it
        ASSERT_GT(row_ptr[row[i]] - row_ptr[cut_row], size.long_row()) << what << ", tile " << i;
        ASSERT_GT(begin[i], row_ptr[cut_row]) << what << ", tile " << i;
        ASSERT_EQ(size.tile_of(begin[i], cut_row), static_cast<std::int64_t>(i)) << what;
        ASSERT_EQ(size.tile_of(begin[i] - 1, cut_row), static_cast<std::int64_t>(i) - 1) << what;
      }
    }
}

TEST_P(OpsSpmv, TilesAreNotMadeInACapture) {
  if (!device().is_cuda()) GTEST_SKIP() << "CUDA graphs";
  const Adjacency used = graph_with_lengths({2, 0, 3000, 1}, 6).to(device()),
                  unused = graph_with_lengths({2, 0, 3000, 1}, 6).to(device());
  const Tensor x = random_tensor({6}, DType::kF32, device());
  const SpmvOptions options{SpmvAlgorithm::kStream};
  const Tensor want = spmv(used, x, options);
  EXPECT_ERROR(CudaGraph::capture(device(), [&] { spmv(unused, x, options); }),
               "[cuda_graph] the work cannot be captured: [spmv] tiles cannot be computed during CUDA graph "
               "capture: run the work once before capturing");
  Tensor y;
  const CudaGraph graph = CudaGraph::capture(device(), [&] { y = spmv(used, x, options); });
  for (int i = 0; i < 3; ++i) {
    graph.launch();
    EXPECT_TRUE(same_bits(y, want));
  }
}

TEST(OpsSpmvNames, Parse) {
  for (const SpmvAlgorithm algorithm : kAlgorithms)
    EXPECT_EQ(parse_spmv_algorithm(name(algorithm)), algorithm);
  EXPECT_ERROR(parse_spmv_algorithm("fast"),
               "unknown spmv algorithm 'fast': expected one of auto, vector, rode, stream, segmented");
  for (const SpmvOptions& options : all_options()) EXPECT_EQ(parse_spmv_options(name(options)), options);
  EXPECT_EQ(name(SpmvOptions{SpmvAlgorithm::kVector, 8}), "vector-8");
  for (const char* text : {"vector-3", "rode-8", "vector-", "fast"})
    EXPECT_ERROR(parse_spmv_options(text), str("unknown spmv algorithm '", text,
                                               "': expected one of auto, vector, rode, stream, segmented, "
                                               "or vector-2, -4, -8, -16 or -32"));
}

}  // namespace
}  // namespace rodeo::test
