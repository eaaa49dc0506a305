// What goes wrong in a run: losses that are not finite, no memory, no disk.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/storage.h"
#include "datasets/graph_facts.h"
#include "datasets/synthetic.h"
#include "tests/support/devices.h"
#include "tests/support/process.h"
#include "tests/support/sums.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/checkpoint.h"
#include "train/commands/recorder.h"
#include "train/commands/run_command.h"
#include "train/io/atomic_file.h"
#include "train/task/memory_estimate.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::command;
using test::TempDir;
namespace fs = std::filesystem;

struct Result {
  int code;
  std::string out, err;
};

/// train_gcn on a small graph, after a shell's limits.
Result train(const TempDir& dir, const std::string& limits, const std::string& arguments) {
  if (!fs::exists(dir / "tiny.h5")) save_dataset(test::tiny_dataset(), dir / "tiny.h5");
  const std::string line = str(limits, "exec '", command("train_gcn"), "' --device cpu --dataset '",
                               dir / "tiny.h5", "' ", arguments);
  const int code = test::wait_for(test::start({"/bin/bash", "-c", line}, dir / "out", dir / "err"));
  return {code, read_file(dir / "out", 1 << 20), read_file(dir / "err", 1 << 20)};
}

class TrainFaults : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(TrainFaults);

TEST(TrainNotFinite, StopsWithItsExitCodeOrGoesOn) {
  const TempDir dir;
  const Result stopped = train(dir, "", "--lr 1e30 --quiet --checkpoint " + dir / "ck");
  EXPECT_EQ(stopped.code, 3);
  EXPECT_TRUE(stopped.err.starts_with("train_gcn: [train] the ")) << stopped.err;
  EXPECT_NE(stopped.err.find(" in epoch 1: try a smaller learning rate, --clip-norm, or --debug to see which "
                             "kernel it is\n"),
            std::string::npos)
      << stopped.err;
  const Result on = train(
      dir, "", "--lr 1e30 --on-nan continue --epochs 12 --log " + dir / "log --checkpoint " + dir / "none");
  EXPECT_EQ(on.code, 0) << on.err;
  EXPECT_NE(on.out.find("epoch 12/12"), std::string::npos);
  const std::string log = read_file(dir / "log", 1 << 20);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 14);
  EXPECT_FALSE(CheckpointFolder(dir / "none").latest()) << "weights that are not finite were kept";
  const Result weights = train(dir, "", "--lr 1e30 --on-nan continue --epochs 3 --export " + dir / "w");
  EXPECT_EQ(weights.code, 2);
  EXPECT_NE(weights.err.find("no epoch had a finite validation loss"), std::string::npos) << weights.err;
  EXPECT_FALSE(fs::exists(dir / "w"));
}

// The last line of a log says why there is no summary.
TEST(TrainLog, ARunThatFailsSaysSo) {
  using Json = nlohmann::json;
  const TempDir dir;
  const auto last_line = [&](const std::string& file) {
    const std::string log = read_file(file, 1 << 20);
    EXPECT_TRUE(log.ends_with('\n'));
    return Json::parse(log.substr(log.rfind('\n', log.size() - 2) + 1));
  };
  const auto expect_told = [&](const Result& result, int code, const std::string& file) {
    EXPECT_EQ(result.code, code);
    const Json json = last_line(file);
    EXPECT_EQ(json["event"], "error");
    EXPECT_EQ(json["exit_code"], code);
    EXPECT_GT(json["time"], 1e9);
    EXPECT_EQ("train_gcn: " + json["message"].get<std::string>() + "\n", result.err);
  };
  expect_told(train(dir, "", "--lr 1e30 --quiet --log " + dir / "nan"), 3, dir / "nan");
  const std::string log = read_file(dir / "nan", 1 << 20);
  EXPECT_EQ(Json::parse(log.substr(0, log.find('\n')))["event"], "start");
  // Before there is a device, or a dataset: the line stands alone.
  expect_told(train(dir, "", "--quiet --device cuda:77 --log " + dir / "device"), 2, dir / "device");
  expect_told(train(dir, "", "--quiet --dataset none.h5 --log " + dir / "data"), 2, dir / "data");
  EXPECT_EQ(train(dir, "", "--quiet --epochs 2 --log " + dir / "good").code, 0);
  EXPECT_EQ(last_line(dir / "good")["event"], "end");
}

TEST(TrainNotFinite, DebugNamesTheKernel) {
  const TempDir dir;
  const Result found = train(dir, "", "--lr 1e30 --debug");
  EXPECT_EQ(found.code, 3);
  EXPECT_NE(found.out.find("the result of every kernel is checked; no CUDA graph"), std::string::npos);
  EXPECT_NE(found.err.find("[debug] "), std::string::npos) << found.err;
  EXPECT_NE(found.err.find(" not finite: f32 ["), std::string::npos) << found.err;
  EXPECT_NE(found.err.find(", in epoch "), std::string::npos) << found.err;
  EXPECT_EQ(train(dir, "", "--debug --epochs 3 --quiet").code, 0);
  EXPECT_EQ(train(dir, "", "--debug --on-nan continue").code, 2);
}

TrainerOptions watched(NanWatch& watch) {
  TrainerOptions options{.epochs = 3};
  options.watch = &watch;
  return options;
}

// Also where new memory is full of NaN: kernels write all of what they make, and pass on nothing else.
TEST_P(TrainFaults, HealthyModelsRaiseNoAlarm) {
  for (const ModelEntry& entry : model_registry())
    for (const AttentionForm form : {AttentionForm::kFused, AttentionForm::kComposed}) {
      if (!entry.conv->traits.attention_form && form == AttentionForm::kFused) continue;  // it has none
      SCOPED_TRACE(str(entry.name, " ", name(form)));
      TrainOptions options = published_options(entry.name);
      options.attention = form;
      const NodeRun run = make_run(test::tiny_dataset(), options, device());
      const test::Poisoned poisoned;
      NanWatch watch;
      Trainer trainer = make_trainer(run, watched(watch));
      EXPECT_NO_THROW(trainer.fit());
    }
}

TEST_P(TrainFaults, TheFirstBadKernelIsNamed) {
  const NodeRun run = make_run(test::tiny_dataset(), published_options("gcn"), device());
  NanWatch watch;
  Trainer trainer = make_trainer(run, watched(watch));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto spoil = [&](const EpochReport& report) {
    if (report.epoch != 2) return;
    Variable bias = run.model.module->named_parameters()[1].second;  // conv1.bias
    bias.set_value(Tensor::full(bias.shape(), nan, bias.dtype(), device()));
  };
  const std::string text = test::error_of([&] { trainer.fit(spoil); });
  EXPECT_NE(text.find("[debug] epilogue left operand "), std::string::npos) << text;
  EXPECT_NE(text.find("f32 [16] with 16 nan and 0 infinite, the first in element 0, in epoch 3"),
            std::string::npos)
      << text;
  {
    const ScopedKernelObserver observe(watch);
    EXPECT_NO_THROW(Tensor::full({2}, nan, DType::kF32, device())) << "what a fill writes was asked for";
  }
  NanWatch::check("x", Tensor::zeros({3}, DType::kF32, device()));
  EXPECT_ERROR(NanWatch::check("x", Tensor::full({2}, nan, DType::kF32, device())),
               "[debug] x is not finite: f32 [2] with 2 nan and 0 infinite, the first in element 0");
}

TEST_P(TrainFaults, ABadCheckpointNeverReplacesAGoodOne) {
  const TempDir dir;
  TrainOptions options = published_options("gcn");
  options.dataset = dir / "tiny.h5";
  options.checkpoint = dir / "ck";
  options.checkpoint_every = 1;
  save_dataset(test::tiny_dataset(), options.dataset);
  Recorder recorder(options);
  const NodeRun run = load_run(options, device());
  TrainerOptions training{.epochs = 9};
  training.eval_every = 9;
  Trainer trainer = make_trainer(run, training);
  recorder.start(run, trainer, "device");
  const auto on_epoch = [&](const EpochReport& report) {
    Variable bias = run.model.module->named_parameters()[1].second;
    if (report.epoch == 5)
      bias.set_value(
          Tensor::full(bias.shape(), std::numeric_limits<float>::infinity(), bias.dtype(), device()));
    recorder.epoch(report);
  };
  EXPECT_ERROR(trainer.fit(on_epoch), "[train] conv1.bias is not finite after epoch 5: " + dir / "ck" +
                                          " keeps the checkpoint of epoch 4");
  EXPECT_EQ(fs::exists(dir / "ck/epoch-000004/weights.safetensors"), true);
}

TEST(TrainMemory, ErrorsSayWhatHoldsItAndWhatToTry) {
  if (test::sanitized()) GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
  const TempDir dir;
  // Each thread has a stack and a heap of its own in the addresses that are counted.
  const std::string limit =
      "export OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 MALLOC_ARENA_MAX=2; ulimit -v 1500000; ";
  const Result none = train(dir, limit, "--features dense --hidden 30000000 --log " + dir / "log");
  EXPECT_EQ(none.code, 4) << none.err;
  EXPECT_NE(read_file(dir / "log", 1 << 20).find("\"exit_code\":4}\n"), std::string::npos);
  EXPECT_EQ(std::count(none.err.begin(), none.err.end(), '\n'), 1);
  EXPECT_NE(none.err.find("[memory] cpu is out of memory: 3.35 GiB requested, "), std::string::npos)
      << none.err;
  EXPECT_NE(none.err.find(" used by tensors; the largest: f32 [300, 30]"), std::string::npos) << none.err;
  EXPECT_NE(none.err.find("; try --batch N, --hidden below 30000000"), std::string::npos) << none.err;
  // Parameters of 182 MB fit, and activations of 1.44 GB do not. Neither does what estimates them.
  const Result late = train(dir, limit, "--features dense --hidden 1200000 --epochs 2");
  EXPECT_EQ(late.code, 4) << late.err;
  EXPECT_NE(late.out.find("warning         the memory of an epoch is not known: "), std::string::npos)
      << late.out;
  EXPECT_NE(late.out.find(" that cpu has free: try --batch N, --hidden below 1200000"), std::string::npos)
      << late.out;
  EXPECT_NE(late.err.find("[memory] cpu is out of memory: 1.34 GiB requested, "), std::string::npos)
      << late.err;
  EXPECT_NE(late.err.find("(conv1.lin.weight)"), std::string::npos) << late.err;
  const Result dry = train(dir, limit, "--features dense --hidden 1200000 --dry-run");
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_NE(dry.out.find(" data, and an epoch is not known: two small graphs"), std::string::npos) << dry.out;
  EXPECT_NE(dry.out.find("this may not fit: try --batch N, --hidden below 1200000"), std::string::npos)
      << dry.out;
  // The estimate fits, with memory to spare on both sides.
  const Result warned = train(dir, limit, "--features dense --hidden 500000 --epochs 2");
  EXPECT_EQ(warned.code, 4) << warned.err;
  EXPECT_NE(warned.out.find("warning         an epoch will hold about "), std::string::npos) << warned.out;
}

TEST(TrainMemory, AThreadThatCannotStartIsALackOfMemory) {
  const auto failure_of = [](std::errc code) {
    try {
      throw std::system_error(std::make_error_code(code));
    } catch (...) {
      return current_failure();
    }
  };
  const Failure thread = failure_of(std::errc::resource_unavailable_try_again),
                other = failure_of(std::errc::permission_denied);
  EXPECT_EQ(thread.exit_code, 4);
  EXPECT_EQ(thread.message, "a thread cannot be started: raise ulimit -v or ulimit -u");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(other.message, "Permission denied");
}

TEST(TrainMemory, TooLittleAddressSpaceOrStackIsALine) {
  if (test::sanitized()) GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
  const TempDir dir;
  const Result none = train(dir, "ulimit -v 200000; ", "--epochs 1");  // the loader alone fits
  EXPECT_EQ(none.code, 4) << none.err;
  EXPECT_NE(none.err.find(": less than 320 MiB of address space are left for it: raise ulimit -v\n"),
            none.err.npos)
      << none.err;
  const Result stack = train(dir, "ulimit -s 64; ", "--epochs 1");
  EXPECT_EQ(stack.code, 4);
  EXPECT_NE(stack.err.find(": less than 256 KiB of stack are allowed: raise ulimit -s\n"), stack.err.npos)
      << stack.err;
  for (const char* limit : {"800000", "2000000", "4000000"}) {
    const Result few = train(dir, str("export OMP_NUM_THREADS=64; ulimit -v ", limit, "; "), "--epochs 1");
    EXPECT_EQ(few.code, 0) << few.err;
    EXPECT_NE(few.err.find(", as ulimit -v leaves no room for 64\n"), few.err.npos) << few.err;
  }
}

/// The estimate, divided by what three epochs hold.
double estimate_over_held(Dataset data, const TrainOptions& options) {
  const NodeRun run = make_run(std::move(data), options, kCpu);
  const auto estimate = static_cast<double>(estimate_step_bytes(run, options).value());
  const std::int64_t before = memory_stats(kCpu).current;
  Trainer trainer = make_trainer(run, {.epochs = 3});
  return estimate / static_cast<double>(trainer.fit().peak_bytes - before);
}

// The estimate against what a run holds, within a quarter.
TEST(TrainMemory, EstimatesAreNearWhatIsHeld) {
  SyntheticOptions shape = synthetic_preset("cora");
  shape.nodes = 6000;
  shape.edges = 40000;
  shape.features = 100;
  shape.split = "50/25/25";
  for (const ModelEntry& entry : model_registry())
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      SCOPED_TRACE(str(entry.name, " ", name(precision)));
      TrainOptions options = published_options(entry.name);
      options.spmm = SpmmAlgorithm::kRode;
      options.precision = precision;
      const double ratio = estimate_over_held(synthesize(shape), options);
      RecordProperty(str(entry.name, " ", name(precision)), str(ratio));
      // Beside 16-bit activations plans weigh twice as much, of which small graphs have more.
      EXPECT_NEAR(ratio, 1, precision == Precision::kBf16 ? 0.6 : 0.25);
    }
}

// The small graphs of the estimate have as many edges a node, also where edges have no reverse.
TEST(TrainMemory, OneWayEdgesAreEstimated) {
  Dataset data = synthesize({.nodes = 3000, .edges = 240000, .features = 8, .split = "50/25/25"});
  const Tensor src = data.src.to(DType::kI64), dst = data.dst.to(DType::kI64);
  std::vector<std::int64_t> from, to;
  for (std::int64_t e = 0; e < src.numel(); ++e) {
    const std::int64_t u = src.data<std::int64_t>()[e], v = dst.data<std::int64_t>()[e];
    if (u < v) from.push_back(u), to.push_back(v);
  }
  data.src = Tensor::from(from), data.dst = Tensor::from(to);
  TrainOptions options = published_options("gat");
  options.attention = AttentionForm::kComposed;  // keeps a number for each edge and head
  EXPECT_NEAR(estimate_over_held(std::move(data), options), 1, 0.25);
}

TEST(TrainMemory, OneTrainingNodeOfThousandsIsEstimated) {
  const Dataset data = synthesize({.nodes = 20000,
                                   .edges = 40000,
                                   .features = 16,
                                   .classes = 3,
                                   .train_per_class = 1,
                                   .val = 20,
                                   .test = 20});
  const TrainOptions options = published_options("gcn");
  EXPECT_GT(estimate_step_bytes(make_run(data, options, kCpu), options), 0);
}

// What rodeo_data inspect prints, for dense and for sparse features, against what a run holds.
TEST(TrainMemory, InspectEstimatesTheFormThatTrainingChooses) {
  SyntheticOptions shape;
  shape.nodes = 3000;
  shape.edges = 20000;
  shape.classes = 5;
  shape.features = 2000;
  shape.train_per_class = 20;
  shape.val = shape.test = 100;
  for (const std::int64_t words : {20, 1500})
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(str(words, " of ", shape.features, " features, ", name(dtype)));
      shape.words = words;
      TrainOptions options = published_options("gcn");
      options.spmm = SpmmAlgorithm::kRode;
      options.precision = dtype == DType::kF32 ? Precision::kFp32 : Precision::kBf16;
      const Dataset dataset = synthesize(shape);
      const auto estimate = static_cast<double>(gcn_training_bytes(dataset, graph_facts(dataset), dtype));
      const std::int64_t before = memory_stats(kCpu).current;
      const NodeRun run = make_run(synthesize(shape), options, kCpu);
      Trainer trainer = make_trainer(run, {.epochs = 3});
      const auto held = static_cast<double>(trainer.fit().peak_bytes - before);
      EXPECT_LT(estimate, 2 * held);
      EXPECT_GT(estimate, held / 2);
    }
}

TEST(TrainMemory, AdviceNamesWhatTheRunHasNot) {
  TrainOptions options;
  EXPECT_NE(memory_advice(options, true).find("--precision bf16"), std::string::npos);
  options.precision = Precision::kBf16;
  EXPECT_EQ(memory_advice(options, true).find("--precision"), std::string::npos);
}

TEST(TrainMemory, AllocationsAreListedByShapeAndProducer) {
  const Tensor x = Tensor::zeros({1000, 1234}), y = Tensor::zeros({1000, 1234});
  x.storage()->info.set_name("features");
  y.storage()->info.set_producer("dropout", /*in_gradient=*/true);
  const std::string text = describe_largest_allocations(kCpu, 100);
  EXPECT_NE(text.find("f32 [1000, 1234] (features) 4.71 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("f32 [1000, 1234] (gradient of dropout) 4.71 MiB"), std::string::npos) << text;
}

TEST(TrainDisk, AFullOneKeepsTheLastCheckpoint) {
  if (test::thread_sanitized()) GTEST_SKIP() << "ThreadSanitizer itself writes a file longer than the limit";
  const TempDir dir;
  // Files of 16 KiB at most: the history in the checkpoint grows until it is too long.
  const Result full =
      train(dir, "ulimit -f 16; ", "--quiet --epochs 1000 --checkpoint-every 1 --checkpoint " + dir / "ck");
  EXPECT_EQ(full.code, 2);
  EXPECT_NE(full.err.find("writing failed: File too large"), std::string::npos) << full.err;
  const CheckpointFolder folder(dir / "ck");
  ASSERT_TRUE(folder.latest());
  EXPECT_GT(*folder.latest(), 10);
  EXPECT_NO_THROW(folder.load());
}

TEST(TrainDisk, ATooLongFileIsNamed) {
  if (test::thread_sanitized()) GTEST_SKIP() << "ThreadSanitizer itself writes a file longer than the limit";
  const TempDir dir;
  for (const std::string option : {"--export", "--csv", "--log", "--report"}) {
    const std::string file = dir / (option == "--export" ? "out.safetensors" : "out" + option);
    const Result full = train(dir, "ulimit -f 1; ", str("--quiet --epochs 100 ", option, " ", file));
    EXPECT_EQ(full.code, 2) << option;
    EXPECT_NE(full.err.find(file + ": "), std::string::npos) << full.err;
    EXPECT_TRUE(full.err.find("File too large") != std::string::npos ||
                full.err.find("no room, on the disk or within ulimit -f") != std::string::npos)
        << full.err;
  }
}

TEST(TrainDisk, AVanishedFolderIsNamed) {
  const TempDir dir;
  const Result gone = train(dir, "", "--quiet --epochs 30 --trace " + dir / "no/trace.json");
  EXPECT_EQ(gone.code, 2);
  EXPECT_NE(gone.err.find(dir / "no/trace.json"), std::string::npos) << gone.err;
  CheckpointFolder folder(dir / "ck");
  fs::remove_all(dir / "ck");
  const std::string text = test::error_of([&] { folder.save({1, {}, {}, {}}); });
  EXPECT_NE(text.find(dir / "ck"), std::string::npos) << text;
}

}  // namespace
}  // namespace rodeo
