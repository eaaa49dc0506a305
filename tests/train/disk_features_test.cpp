#include "train/task/disk_features.h"

#include <filesystem>
#include <numeric>

#include "core/memory_stats.h"
#include "datasets/synthetic.h"
#include "ops/gather_rows.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "train/task/feature_scale.h"
#include "train/task/layerwise.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

/// A file of 400 nodes with 24 features, in one piece.
class TrainDiskFeatures : public OnDevice {
 protected:
  TrainDiskFeatures() { write(400, 24); }

  void write(std::int64_t nodes, std::int64_t features) {
    SyntheticOptions size;
    size.nodes = nodes;
    size.edges = 8 * nodes;
    size.features = features;
    size.classes = 4;
    size.train_per_class = 20;
    size.val = size.test = 100;
    save_dataset(synthesize(size), dir_ / "packed.h5");
    unpack_features(dir_ / "packed.h5", path_);
  }

  TrainOptions options(const std::string& model, FeaturesOn on) const {
    TrainOptions out = published_options(model);
    out.dataset = path_;
    out.batch = 16;
    out.fanout = "5,3";
    out.features_on = on;
    out.features = FeatureForm::kDense;
    return out;
  }

  struct Outcome {
    std::vector<double> losses;
    std::vector<double> logits;
    std::string features;
    bool operator==(const Outcome& other) const { return losses == other.losses && logits == other.logits; }
  };
  static Outcome train(const TrainOptions& options, int epochs = 4) {
    const NodeRun run = load_run(options, device());
    Trainer trainer = make_trainer(run, {.epochs = epochs});
    Outcome out;
    trainer.fit([&](const EpochReport& report) { out.losses.push_back(report.loss); });
    run.model.module->eval();
    const NoGrad no_grad;
    out.logits = run.model.forward().value().to(DType::kF64).to_vector<double>();
    out.features = run.model.mini_batches->features;
    return out;
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "x.h5";
};
RODEO_ON_ALL_DEVICES(TrainDiskFeatures);

// With and without a cache: rows of both, of one, and none.
TEST_P(TrainDiskFeatures, RowsAreThoseOfTheConvertedMatrix) {
  for (const FeatureScaling scaling :
       {FeatureScaling::kRow, FeatureScaling::kUnit, FeatureScaling::kNone, FeatureScaling::kStandardAll})
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      TrainOptions of = options("sage", FeaturesOn::kDevice);
      of.normalize_features = scaling;
      of.precision = precision;
      Dataset dataset = load_dataset(path_);
      const FeatureScale scale = make_feature_scale(dataset, {}, {}, of, device(), {}, false, false);
      const Tensor x = convert_features(dataset, scale, of, FeatureForm::kDense, device()).x.input().value();
      DiskFeatures disk(path_, scale, x.dtype(), device());
      for (const std::int64_t cached : {0, 150}) {
        if (cached > 0) {
          std::vector<std::int32_t> reads(400);
          for (std::size_t i = 0; i < reads.size(); ++i) reads[i] = static_cast<std::int32_t>(i * 37 % 400);
          disk.set_cache(cache_rows([&](const Tensor& index) { return disk.read_in_pieces(index); }, reads,
                                    cached, device()));
        }
        for (const auto& rows :
             {std::vector<std::int64_t>{}, {5}, {399, 0, 0, 17, 200, 201, 3, 11}, {1, 12}}) {
          const Tensor index = Tensor::from(rows, device());
          EXPECT_TRUE(same_bits(disk.read(index)(), gather_rows(x, index)))
              << name(scaling) << " " << cached << " " << rows.size();
        }
      }
    }
}

TEST_P(TrainDiskFeatures, RowsOutsideAndCachesOfOthersAreNamed) {
  DiskFeatures disk(path_, {}, DType::kF32, device());
  const auto read = [&](std::int64_t row) {
    return disk.read(Tensor::from<std::int64_t>({row}, device()))();
  };
  const auto rows = [&](const Tensor& index) { return disk.read_in_pieces(index); };
  disk.set_cache(cache_rows(rows, std::vector<std::int32_t>(400, 1), 150, device()));
  EXPECT_EQ(read(399).shape(), (Shape{1, 24}));
  EXPECT_ERROR(read(400), "[disk_features] row 400 is outside [0, 400)");
  EXPECT_ERROR(read(-1), "[disk_features] row -1 is outside [0, 400)");
  const auto narrow = [&](const Tensor& index) {
    return Tensor::zeros({index.numel(), 23}, DType::kF32, device());
  };
  EXPECT_ERROR(disk.set_cache(cache_rows(narrow, std::vector<std::int32_t>(400, 1), 150, device())),
               str("[disk_features] the cache is not one of [400, 24] f32 on ", device()));
  EXPECT_ERROR(disk.set_cache(cache_rows(rows, std::vector<std::int32_t>(399, 1), 150, device())),
               str("[disk_features] the cache is not one of [400, 24] f32 on ", device()));
}

// Losses and evaluations, exact or sampled, have the same bits.
TEST_P(TrainDiskFeatures, EveryPlaceGivesTheSameBits) {
  for (const char* model : {"sage", "gcn", "gat"})
    for (const bool sampled : {false, true}) {
      TrainOptions of = options(model, FeaturesOn::kDevice);
      of.eval_sampled = sampled;
      if (sampled) of.precision = Precision::kBf16;
      const Outcome want = train(of);
      ASSERT_GT(want.losses.front(), 0);
      for (const GraphOn graph : {GraphOn::kDevice, GraphOn::kHost})
        for (const FeaturesOn on : {FeaturesOn::kDevice, FeaturesOn::kHost, FeaturesOn::kDisk}) {
          of.features_on = on;
          of.graph_on = graph;
          EXPECT_TRUE(train(of) == want) << model << " " << name(on) << " " << name(graph) << " " << sampled;
        }
    }
}

TEST_P(TrainDiskFeatures, PartsAndWeightsAndTrunksToo) {
  Dataset weighted = load_dataset(path_);
  weighted.edge_weight = random_tensor({weighted.num_edges()}, DType::kF32, kCpu, 9);
  for (float& w : std::span(weighted.edge_weight.data<float>(), weighted.num_edges())) w = std::abs(w) + 0.1f;
  save_dataset(weighted, dir_ / "weighted.h5");
  unpack_features(dir_ / "weighted.h5", dir_ / "both.h5");
  for (const bool parts : {false, true}) {
    TrainOptions of = options("gcn", FeaturesOn::kDevice);
    of.dataset = dir_ / "both.h5";
    of.normalize_features = FeatureScaling::kNone;
    of.trunk.pre_linear = 1;
    of.trunk.norm = TrunkNorm::kLayer;
    of.batch_by_parts = parts;
    if (parts) of.fanout = "", of.batch = 130;
    const Outcome want = train(of);
    of.features_on = FeaturesOn::kDisk;
    of.graph_on = GraphOn::kHost;
    EXPECT_TRUE(train(of) == want) << parts;
  }
}

// 1 MiB holds all rows.
TEST_P(TrainDiskFeatures, ACacheChangesNoBitsAndReadsLess) {
  TrainOptions of = options("sage", FeaturesOn::kDisk);
  of.feature_cache_mib = 0;
  const Outcome want = train(of);
  EXPECT_EQ(want.features, "in the file, 37.50 KiB");
  of.feature_cache_mib = 1;
  const Outcome cached = train(of);
  EXPECT_TRUE(cached == want);
  EXPECT_NE(cached.features.find("has 100.0 % of the rows, for 100.0 % of the reads"), std::string::npos)
      << cached.features;
  const NodeRun run = load_run(of, device());
  const std::int64_t before = run.task.disk_features->bytes_read();
  make_trainer(run, {.epochs = 2}).fit();
  EXPECT_EQ(run.task.disk_features->bytes_read(), before);
}

// 1 MiB has 10,922 rows of 24 floats.
TEST_P(TrainDiskFeatures, ACacheHasAsManyRowsAsItsSize) {
  write(20000, 24);
  TrainOptions of = options("sage", FeaturesOn::kDisk);
  of.feature_cache_mib = 1;
  const NodeRun run = load_run(of, device());
  EXPECT_NE(run.model.mini_batches->features.find(" has 54.6 % of the rows, for "), std::string::npos)
      << run.model.mini_batches->features;
}

// Many chunks, each with the rows that it reads.
TEST_P(TrainDiskFeatures, EvaluationReadsChunks) {
  TrainOptions of = options("sage", FeaturesOn::kDisk);
  of.feature_cache_mib = 0;  // a GPU would hold all rows
  const NodeRun run = load_run(of, device());
  DiskFeatures& disk = *run.task.disk_features;
  const Tensor all = disk.read_in_pieces([] {
    std::vector<std::int64_t> rows(400);
    std::iota(rows.begin(), rows.end(), 0);
    return Tensor::from(rows, device());
  }());
  const auto first = [](const Block& block, const Features& h, const Variable&) {
    return Variable(h.input().value().slice(0, block.adj.rows()));
  };
  LayerwiseModel from_memory{.layers = {first, first}}, from_file = from_memory;
  from_file.read_inputs = run.model.mini_batches->read_features;
  const LayerwiseEvaluation want(run.model.adj, all, from_memory, 100),
      got(run.model.adj, Tensor(), from_file, 100);
  EXPECT_GT(got.num_chunks(), 20);
  const std::int64_t before = disk.bytes_read();
  EXPECT_TRUE(same_bits(got.logits().value(), want.logits().value()));
  EXPECT_TRUE(same_bits(got.logits().value(), all));
  EXPECT_GT(disk.bytes_read(), before);
}

// The tensors of a run on the host stay below the size of the features, of which a batch reads a part.
TEST_P(TrainDiskFeatures, TheHostDoesNotHoldTheFeatures) {
  write(20000, 256);
  constexpr std::int64_t kBytes = 20000 * 256 * 4;
  TrainOptions of = options("sage", FeaturesOn::kDisk);
  of.feature_cache_mib = 0;
  of.eval_sampled = true;
  const std::int64_t before = memory_stats(kCpu).current;
  const auto peak = [&](FeaturesOn on) {
    of.features_on = on;
    reset_peak_memory(kCpu);
    const NodeRun run = load_run(of, device());
    const auto bytes_read = [&] { return run.task.disk_features ? run.task.disk_features->bytes_read() : 0; };
    EXPECT_EQ(bytes_read(), 0) << "nothing is loaded";
    make_trainer(run, {.epochs = 1}).fit();
    EXPECT_EQ(bytes_read() > 0, on == FeaturesOn::kDisk);
    return memory_stats(kCpu).peak - before;
  };
  EXPECT_LT(peak(FeaturesOn::kDisk), kBytes / 2);
  if (device().is_cuda()) return;  // page-locked memory is not counted
  EXPECT_GT(peak(FeaturesOn::kHost), kBytes);
}

TEST_P(TrainDiskFeatures, AFileThatIsCutWhileItTrainsIsAnError) {
  TrainOptions of = options("sage", FeaturesOn::kDisk);
  of.feature_cache_mib = 0;  // a GPU would hold all rows
  const NodeRun run = load_run(of, device());
  Trainer trainer = make_trainer(run, {.epochs = 3});
  trainer.fit();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 30000);
  Trainer again = make_trainer(run, {.epochs = 3});
  EXPECT_NE(error_of([&] { again.fit(); }).find("is beyond the end of the file"), std::string::npos);
}

TEST_P(TrainDiskFeatures, Errors) {
  TrainOptions of = options("sage", FeaturesOn::kDisk);
  of.dataset = dir_ / "packed.h5";
  EXPECT_ERROR(
      load_run(of, device()),
      str("--features-on disk: ", of.dataset,
          ": /x cannot be read row by row: it is compressed, chunked, or not f32, f16 or bf16. Write "
          "a copy that can: rodeo_data unpack ",
          of.dataset, " OUT"));
  EXPECT_ERROR(make_run(load_dataset(path_), of, device()), "--features-on disk: the graph is not in a file");
  Dataset sparse = load_dataset(path_);
  sparse.x = {};
  sparse.x_sparse = {Tensor::zeros({401}, DType::kI64), Tensor::zeros({0}, DType::kI32), Tensor::zeros({0})};
  save_dataset(sparse, dir_ / "sparse.h5");
  of.dataset = dir_ / "sparse.h5";
  EXPECT_ERROR(load_run(of, device()),
               of.dataset + ": --features-on disk is for dense features, and those of the file are sparse");
}

TEST_P(TrainDiskFeatures, AutoKeepsASmallGraphOnTheDevice) {
  const NodeRun run = load_run(options("sage", FeaturesOn::kAuto), device());
  EXPECT_EQ(run.task.places.find("(auto: they take ") == std::string::npos, false) << run.task.places;
  EXPECT_FALSE(run.task.disk_features);
  EXPECT_FALSE(run.task.features_on_host);
}

}  // namespace
}  // namespace rodeo::test
