/// sample_bench: milliseconds of one epoch of GraphSAGE on sampled mini-batches, and its parts. The epoch is
/// timed as the trainer runs it: the next batch is sampled beside the training, which replays a CUDA graph;
/// `wait` is the time of this epoch in which training waits for a batch. The parts are timed op by op, one
/// after the other, with a wait for the device behind each. Before anything is timed, some batches of both
/// ways are compared. Exit codes: 0; 2 for a bad option.
#include <fmt/format.h>

#include <chrono>
#include <cxxopts.hpp>
#include <map>

#include "core/context.h"
#include "core/kernel_timer.h"
#include "core/memory_stats.h"
#include "core/page_locked.h"
#include "core/random.h"
#include "core/threads.h"
#include "core/version.h"

#include "datasets/neighbor_sampler.h"
#include "datasets/synthetic.h"
#include "models/sage.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/loss.h"
#include "tests/bench/large_graph.h"
#include "train/adam.h"
#include "train/batch_runner.h"
#include "train/task/host_features.h"

namespace rodeo::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string graph;
  std::int64_t batch = 0, hidden = 0, train = 0, features = 0, classes = 0;
  std::vector<std::int64_t> fanout;
  int epochs = 0;
  Device device = kCpu;
  DType dtype = DType::kF32;
  bool on_host = false;         // features: page-locked
  std::int64_t cache_mib = -1;  // -1: half of what is free on the device
};

struct Parts {
  double sample = 0, gather = 0, train = 0;
};

/// What all runs share.
struct Data {
  std::string name;
  Adjacency graph;
  Tensor x;      // [nodes, features]
  Tensor label;  // i64 [nodes]
  Tensor train;  // i64 [k], on the host
  RowCache cache = {};
};

/// Moves the features to the host, and counts which rows batches read: returns what `describe` says.
std::string move_features(const Settings& s, Data& data) {
  const Tensor x = page_locked(data.x.shape(), data.x.dtype(), s.device);
  x.copy_from(data.x);
  data.x = x;
  const MiniBatchTraining batches{.batches = MiniBatches(data.train, data.graph.rows(), s.batch, 0, s.device),
                                  .sampler = NeighborSampler(data.graph, {s.fanout}),
                                  .forward = {},
                                  .batch_size = s.batch};
  TrainOptions options;
  options.feature_cache_mib = s.cache_mib;
  HottestRows hottest = hottest_rows(data.x, batches, options);
  const std::string text = describe(data.x, hottest);
  data.cache = std::move(hottest.cache);
  return text;
}

Tensor random_labels(std::int64_t nodes, std::int64_t classes, Device device) {
  std::vector<std::int64_t> label(static_cast<std::size_t>(nodes));
  Philox4 random{};
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (i % 4 == 0) random = philox(3, 0, i / 4);
    label[i] = static_cast<std::int64_t>(random.word[i % 4]) % classes;
  }
  return Tensor::from(label, device);
}

/// s.train: 0 for the number of the graph.
Data make_data(Settings& s) {
  if (const auto large = large_graph(s.graph)) {
    s.features = large->features, s.classes = large->classes;
    s.train = std::clamp<std::int64_t>(s.train > 0 ? s.train : large->train, 1, large->nodes);
    Data data{.name = large->name, .graph = draw_graph(*large, s.device), .x = {}, .label = {}, .train = {}};
    data.x = draw_features(*large, s.dtype, s.device);
    data.label = random_labels(large->nodes, s.classes, s.device);
    data.train = labelled_nodes(*large, 0, s.train);
    return data;
  }
  SyntheticOptions preset = synthetic_preset(s.graph);
  s.features = preset.features, s.classes = preset.classes;
  preset.features = 1, preset.words = 0;  // random ones are made on the device
  const Dataset made = synthesize(preset, s.device);
  s.train = std::clamp<std::int64_t>(s.train > 0 ? s.train : 196'615, 1, made.num_nodes);
  std::vector<std::int64_t> train;
  for (std::int64_t i = 0; i < s.train; ++i) train.push_back(i * (made.num_nodes / s.train));
  return {made.name, to_graph(made, s.device).adj,
          uniform({made.num_nodes, s.features}, -1, 1, {1, 0}, DType::kF32, s.device).to(s.dtype),
          random_labels(made.num_nodes, s.classes, s.device), Tensor::from(train)};
}

class Run {
 public:
  Run(const Settings& s, const Data& data)
      : s_(s),
        sampler_(data.graph, {s.fanout}),
        x_(data.x),
        cache_(data.cache),
        label_(data.label),
        batches_(data.train, data.graph.rows(), s.batch, 0, s.device),
        model_({.in = s.features,
                .hidden = s.hidden,
                .classes = s.classes,
                .layers = static_cast<int>(s.fanout.size()),
                .input_dropout = 0},
               Random(0), s.device),
        adam_({{model_.parameters(), {.lr = 0.003}}}),
        runner_(
            sampler_, [this](const SampledBatch& batch) { return step(batch, features(batch)); },
            model_.parameters(), s.batch) {
    for (std::int64_t i = 0; i < s.batch; ++i) every_.push_back(i);
    rows_ = Tensor::from(every_, s.device);
    model_.train();
  }

  std::int64_t num_batches() const { return batches_.size(); }
  int num_kernels() const { return runner_.num_kernels(); }
  std::int64_t edges = 0, nodes = 0;  // of the last parts()

  /// The loss of each of the first `count` batches of an epoch.
  std::vector<double> losses(int epoch, std::size_t count, bool captured) {
    std::vector<double> out;
    std::vector<Tensor> batches = batches_.epoch(epoch);
    batches.resize(std::min(count, batches.size()));
    runner_.run(batches, epoch,
                [&](const Tensor& loss, std::int64_t) {
                  out.push_back(loss.to(DType::kF64).item());
                  return true;
                },
                {.captures = captured});
    return out;
  }
  /// Milliseconds of an epoch as it is trained, and those of it in which training waits for a batch.
  std::pair<double, double> epoch(int number) {
    synchronize(s_.device);
    const auto begin = Clock::now();
    const BatchTotals totals = runner_.run(
        batches_.epoch(number), number, [](const Tensor&, std::int64_t) { return true; }, {.captures = true});
    synchronize(s_.device);
    return {milliseconds_since(begin), totals.wait_ms};
  }
  /// Milliseconds of the parts of an epoch.
  Parts parts(int epoch) {
    Parts sum;
    edges = nodes = 0;
    const auto timed = [&](double Parts::*part, auto&& work) {
      synchronize(s_.device);
      const auto begin = Clock::now();
      work();
      synchronize(s_.device);
      sum.*part += milliseconds_since(begin);
    };
    std::int64_t at = 0;
    for (const Tensor& targets : batches_.epoch(epoch)) {
      SampledBatch batch;
      Features x;
      timed(&Parts::sample, [&] { batch = sampler_.sample_checked(targets, epoch, at++); });
      timed(&Parts::gather, [&] { x = Features(features(batch).dense()); });
      timed(&Parts::train, [&] { step(batch, x); });
      for (const Block& block : batch.blocks) edges += block.adj.num_edges();
      nodes += batch.inputs().numel();
    }
    return sum;
  }

 private:
  static double milliseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }
  Features features(const SampledBatch& batch) const {
    return Features(PendingRows{x_, batch.inputs(), cache_});
  }
  Tensor step(const SampledBatch& batch, const Features& x) {
    const RandomStep random_step(adam_.step_counter());
    std::vector<Adjacency> blocks;
    for (const Block& block : batch.blocks) blocks.push_back(block.adj);
    const Variable loss = nll_loss(log_softmax(model_.forward(blocks, x)), take(label_, batch.targets),
                                   rows_.slice(0, batch.targets.numel()));
    loss.backward();
    adam_.step();
    adam_.zero_grad();
    return loss.value();
  }

  Settings s_;
  NeighborSampler sampler_;
  Tensor x_;
  RowCache cache_;
  Tensor label_, rows_;
  std::vector<std::int64_t> every_;
  MiniBatches batches_;
  Sage model_;
  Adam adam_;
  BatchRunner runner_;
};

/// Throws Error unless the losses of a few batches are the same with the CUDA graph and without.
void verify(const Settings& s, const Data& data) {
  constexpr std::size_t kBatches = 6;
  Run first(s, data), second(s, data);
  const std::vector<double> captured = first.losses(0, kBatches, true),
                            op_by_op = second.losses(0, kBatches, false);
  for (std::size_t i = 0; i < captured.size(); ++i)
    check(captured[i] == op_by_op[i], "the loss of batch ", i, " is ", captured[i],
          " with a CUDA graph, and ", op_by_op[i], " without");
}

/// Prints the kernels of some batches, without a CUDA graph and with sampling beside them, by their time.
void profile(Run& run, Device device) {
  double batches = 0;
  KernelTimer timer(device, 1);
  {
    const ScopedKernelObserver observe(timer);
    timer.begin_step(1);
    batches = static_cast<double>(run.losses(1, 20, false).size());
  }
  struct Sum {
    double ms = 0, bytes = 0;
    int calls = 0;
  };
  std::map<std::string, Sum> sums;
  for (const KernelSpan& span : timer.spans()) {
    Sum& sum = sums[span.gradient_of.empty() ? span.op : fmt::format("{} of {}", span.op, span.gradient_of)];
    sum.ms += span.ms, sum.bytes += static_cast<double>(span.bytes), ++sum.calls;
  }
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
  fmt::print("{:<40}{:>14}{:>12}{:>12}\n", "kernel", "ms a batch", "calls", "GB/s");
  for (const auto& [name, sum] : rows)
    fmt::print("{:<40}{:>14.4f}{:>12.1f}{:>12.0f}\n", name, sum.ms / batches,
               static_cast<double>(sum.calls) / batches, sum.bytes / sum.ms * 1e-6);
}

DType dtype_named(const std::string& name) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    if (str(dtype) == name) return dtype;
  fail("--dtype: f32, bf16 or f16, got ", name);
}

int run(int argc, const char* const* argv) {
  cxxopts::Options options("sample_bench", "Times epochs of GraphSAGE on sampled mini-batches.\n");
  auto add = options.add_options();
  const auto text = [](const char* initial) { return cxxopts::value<std::string>()->default_value(initial); };
  const auto number = [](const char* initial) {
    return cxxopts::value<std::int64_t>()->default_value(initial);
  };
  add("graph",
      "Synthetic graph: " + synthetic_preset_names() +
          "; papers100M, or papers100M/N for an N-th of it, drawn on the device",
      text("products"), "NAME");
  add("batch", "Target nodes of a batch", number("1024"), "N");
  add("fanout", "Edges of a node, hop by hop",
      cxxopts::value<std::vector<std::int64_t>>()->default_value("15,10,5"), "LIST");
  add("hidden", "Hidden width", number("256"), "N");
  add("train", "Training nodes; 0: 196615, or those of papers100M", number("0"), "N");
  add("epochs", "Timed epochs; the median is reported", number("3"), "N");
  add("dtype", "f32, bf16 or f16", text("f32"), "NAME");
  add("features-on", "device, or host: page-locked memory, and the rows that are read most on the device",
      text("device"), "NAME");
  add("feature-cache", "MiB of the device for these rows; -1: half of what is free", number("-1"), "MIB");
  add("tf32", "f32 matrix products round their inputs to TF32");
  add("profile", "Print the kernels of 20 batches by their time");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("h,help", "Print this help");
  const cxxopts::ParseResult parsed = options.parse(argc, argv);
  if (parsed.count("help")) return std::fputs(options.help().c_str(), stdout), 0;
  Settings s{.graph = parsed["graph"].as<std::string>(),
             .batch = parsed["batch"].as<std::int64_t>(),
             .hidden = parsed["hidden"].as<std::int64_t>(),
             .train = parsed["train"].as<std::int64_t>(),
             .fanout = parsed["fanout"].as<std::vector<std::int64_t>>(),
             .epochs = static_cast<int>(parsed["epochs"].as<std::int64_t>()),
             .device = parse_device(parsed["device"].as<std::string>()),
             .dtype = dtype_named(parsed["dtype"].as<std::string>()),
             .on_host = parse_features_on(parsed["features-on"].as<std::string>()) == FeaturesOn::kHost,
             .cache_mib = parsed["feature-cache"].as<std::int64_t>()};
  const std::string features_on = parsed["features-on"].as<std::string>();
  check(features_on == "device" || features_on == "host", "--features-on must be device or host, got '",
        features_on, "'");
  set_allow_tf32(parsed.count("tf32") > 0);
  Data data = make_data(s);
  const std::string place = s.on_host ? move_features(s, data) : "on the device";

  verify(s, data);
  Run bench(s, data);
  bench.epoch(0);  // warm-up: loads kernels and fills the memory pool
  const Parts parts = bench.parts(1);
  reset_peak_memory(s.device);
  std::vector<std::pair<double, double>> ms;
  for (int e = 0; e < s.epochs; ++e) ms.push_back(bench.epoch(2 + e));
  std::ranges::sort(ms);
  fmt::print("sample_bench, rodeo {} ({}), {}\n", RODEO_VERSION, RODEO_COMMIT, describe(s.device));
  fmt::print("features {}\n", place);
  fmt::print("{:<16}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>12}{:>12}{:>12}{:>12}{:>10}\n", "graph", "batch",
             "hidden", "batches", "edges, M", "inputs, M", "epoch, ms", "sample, ms", "gather, ms",
             "train, ms", "wait, ms", "peak, GiB");
  fmt::print(
      "{:<16}{:>8}{:>8}{:>10}{:>10.1f}{:>10.1f}{:>10.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>10.2f}\n",
      data.name, s.batch, s.hidden, bench.num_batches(), static_cast<double>(bench.edges) * 1e-6,
      static_cast<double>(bench.nodes) * 1e-6, ms[ms.size() / 2].first, parts.sample, parts.gather,
      parts.train, ms[ms.size() / 2].second, static_cast<double>(memory_stats(s.device).peak) / (1 << 30));
  if (parsed.count("profile")) profile(bench, s.device);
  return 0;
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  try {
    rodeo::configure_threads(argv);
    return rodeo::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sample_bench: {}\n", error.what());
    return 2;
  }
}
