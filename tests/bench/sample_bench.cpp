/// sample_bench: milliseconds of one epoch of GraphSAGE on sampled mini-batches, and its parts. The parts are
/// timed one after the other, with a wait for the device behind each; the epoch is timed without such waits.
/// Exit codes: 0; 2 for a bad option.
#include <fmt/format.h>

#include <chrono>
#include <cxxopts.hpp>

#include "core/context.h"
#include "core/memory_stats.h"
#include "core/threads.h"
#include "core/version.h"

#include "datasets/neighbor_sampler.h"
#include "datasets/synthetic.h"
#include "models/sage.h"
#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/loss.h"
#include "train/adam.h"

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
};

struct Parts {
  double sample = 0, gather = 0, train = 0;
};

class Run {
 public:
  Run(const Settings& s, const Adjacency& graph)
      : s_(s),
        sampler_(graph, {s.fanout}),
        x_(uniform({graph.rows(), s.features}, -1, 1, {1, 0}, DType::kF32, s.device).to(s.dtype)),
        label_(Tensor::zeros({graph.rows()}, DType::kI64, s.device)),
        batches_(training_nodes(graph.rows(), s.train), graph.rows(), s.batch, 0, s.device),
        model_({.in = s.features,
                .hidden = s.hidden,
                .classes = s.classes,
                .layers = static_cast<int>(s.fanout.size())},
               Random(0), s.device),
        adam_({{model_.parameters(), {.lr = 0.003}}}) {}

  std::int64_t batches() const { return batches_.size(); }
  std::int64_t edges = 0, nodes = 0;  // of the last epoch

  /// Milliseconds of an epoch; with `parts`, timed one by one.
  double epoch(int number, Parts* parts) {
    edges = nodes = 0;
    synchronize(s_.device);
    const auto begin = Clock::now();
    const auto timed = [&](double Parts::*part, auto&& work) {
      const auto at = Clock::now();
      work();
      if (!parts) return;
      synchronize(s_.device);
      parts->*part += std::chrono::duration<double, std::milli>(Clock::now() - at).count();
    };
    std::int64_t number_of_batch = 0;
    for (const Tensor& targets : batches_.epoch(number)) {
      SampledBatch batch;
      std::vector<Adjacency> blocks;
      Variable x;
      timed(&Parts::sample, [&] {
        batch = sampler_.sample_checked(targets, number, number_of_batch++);
        for (const Block& block : batch.blocks) blocks.push_back(block.adj), edges += block.adj.num_edges();
        nodes += batch.inputs().numel();
      });
      timed(&Parts::gather, [&] { x = Variable(gather_rows(x_, batch.inputs())); });
      timed(&Parts::train, [&] { step(blocks, x, targets); });
    }
    synchronize(s_.device);
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

 private:
  static Tensor training_nodes(std::int64_t nodes, std::int64_t count) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < count; ++i) ids.push_back(i * (nodes / count));
    return Tensor::from(ids);
  }
  void step(const std::vector<Adjacency>& blocks, const Variable& x, const Tensor& targets) {
    model_.train();
    const Variable loss =
        nll_loss(log_softmax(model_.forward(blocks, x)), gather_label(targets), all(targets));
    loss.backward();
    adam_.step();
    adam_.zero_grad();
  }
  Tensor gather_label(const Tensor& targets) const { return label_.slice(0, targets.numel()); }
  const Tensor& all(const Tensor& targets) {
    if (!rows_.defined() || rows_.numel() != targets.numel()) {
      std::vector<std::int64_t> ids;
      for (std::int64_t i = 0; i < targets.numel(); ++i) ids.push_back(i);
      rows_ = Tensor::from(ids, s_.device);
    }
    return rows_;
  }

  Settings s_;
  NeighborSampler sampler_;
  Tensor x_, label_, rows_;
  MiniBatches batches_;
  Sage model_;
  Adam adam_;
};

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
  add("graph", "Synthetic graph: " + synthetic_preset_names(), text("products"), "NAME");
  add("batch", "Target nodes of a batch", number("1024"), "N");
  add("fanout", "Edges of a node, hop by hop",
      cxxopts::value<std::vector<std::int64_t>>()->default_value("15,10,5"), "LIST");
  add("hidden", "Hidden width", number("256"), "N");
  add("train", "Training nodes", number("196615"), "N");
  add("epochs", "Timed epochs; the median is reported", number("3"), "N");
  add("dtype", "f32, bf16 or f16", text("f32"), "NAME");
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
             .dtype = dtype_named(parsed["dtype"].as<std::string>())};
  SyntheticOptions preset = synthetic_preset(s.graph);
  s.features = preset.features, s.classes = preset.classes;
  preset.features = 1, preset.words = 0;  // random ones are made on the device
  const Dataset data = synthesize(preset, s.device);
  s.train = std::clamp<std::int64_t>(s.train, 1, data.num_nodes);
  const Adjacency graph = to_graph(data, s.device).adj;

  Run bench(s, graph);
  bench.epoch(0, nullptr);  // warm-up: loads kernels and fills the memory pool
  Parts parts;
  bench.epoch(1, &parts);
  std::vector<double> ms;
  for (int e = 0; e < s.epochs; ++e) ms.push_back(bench.epoch(2 + e, nullptr));
  std::ranges::sort(ms);
  fmt::print("sample_bench, rodeo {} ({}), {}\n", RODEO_VERSION, RODEO_COMMIT, describe(s.device));
  fmt::print("{:<16}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>12}{:>12}{:>12}{:>10}\n", "graph", "batch", "hidden",
             "batches", "edges, M", "inputs, M", "epoch, ms", "sample, ms", "gather, ms", "train, ms",
             "peak, GiB");
  fmt::print("{:<16}{:>8}{:>8}{:>10}{:>10.1f}{:>10.1f}{:>10.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>10.2f}\n",
             data.name, s.batch, s.hidden, bench.batches(), static_cast<double>(bench.edges) * 1e-6,
             static_cast<double>(bench.nodes) * 1e-6, ms[ms.size() / 2], parts.sample, parts.gather,
             parts.train, static_cast<double>(memory_stats(s.device).peak) / (1 << 30));
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
