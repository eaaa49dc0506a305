/// sample_bench: milliseconds of one epoch on sampled mini-batches, and its parts: of GraphSAGE, and of the
/// models of several node types. The epoch is timed as the trainer runs it: the next batch is sampled beside
/// the training, which replays a CUDA graph for GraphSAGE; `wait` is the time of this epoch in which training
/// waits for a batch. The parts are timed op by op, one after the other, with a wait for the device behind
/// each. Before anything is timed, some batches of both ways are compared. Exit codes: 0; 2 for a bad option.
#include <fmt/format.h>

#include <chrono>
#include <cxxopts.hpp>
#include <map>

#include "core/context.h"
#include "core/kernel_timer.h"
#include "core/launch_ranks.h"
#include "core/memory_stats.h"
#include "core/over_ranks.h"
#include "core/random.h"
#include "core/rank_memory.h"
#include "core/threads.h"
#include "core/version.h"

#include "bench/arguments.h"
#include "bench/hetero_graph.h"
#include "bench/large_graph.h"
#include "bench/sample_run.h"
#include "datasets/neighbor_sampler.h"
#include "datasets/synthetic.h"
#include "datasets/synthetic_hetero.h"
#include "models/sage.h"
#include "ops/all_rows.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/loss.h"
#include "train/adam.h"
#include "train/commands/run_on_ranks.h"
#include "train/task/hottest_rows.h"
#include "train/task/model_registry.h"

namespace rodeo::bench {
namespace {

/// The nodes whose features the rank draws: its own with peers, else all.
std::shared_ptr<const NodePartition> feature_rows(const SampleSettings& s, std::int64_t nodes) {
  return equal_parts(nodes, s.features_on == FeaturesOn::kPeers ? s.ranks : Communicator());
}

/// The nodes whose edges the rank has, with peers.
std::shared_ptr<const NodePartition> graph_rows(const SampleSettings& s, std::int64_t nodes) {
  constexpr std::int64_t kAlign = 4;  // NodePartition
  std::vector<std::int64_t> rows = equal_parts(nodes / kAlign, s.ranks)->rows();
  for (std::int64_t& count : rows) count *= kAlign;
  rows.back() += nodes % kAlign;
  return std::make_shared<const NodePartition>(s.ranks, rows);
}

/// Moves the features to the host or says that they are cut among ranks, and counts which rows batches read:
/// returns HottestRows::text.
std::string place_features(const SampleSettings& s, SampleData& data) {
  if (s.features_on == FeaturesOn::kDevice) return "on the device";
  const std::int64_t nodes = all_rows(data.graph).nodes;
  const MiniBatchTraining batches{.batches = MiniBatches(data.train, nodes, s.batch, 0, s.device),
                                  .sampler = NeighborSampler(data.graph, {s.fanout}),
                                  .batch_size = s.batch,
                                  .ranks = s.ranks};
  TrainOptions options;
  options.feature_cache_mib = s.cache_mib;
  if (s.features_on == FeaturesOn::kPeers) {
    data.peers = std::make_shared<PeerRows>(data.x, feature_rows(s, nodes));
    return hottest_rows(*data.peers, batches, options).text;
  }
  const Tensor x = page_locked_of_host(data.x.shape(), data.x.dtype(), s.device, s.ranks);
  if (ranks_of_host(s.ranks).rank == 0) x.copy_from(data.x);
  synchronize(s.device);
  s.ranks.barrier();
  data.x = x;
  HottestRows hottest = hottest_rows(data.x, batches, options);
  data.cache = std::move(hottest.cache);
  return hottest.text;
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
SampleData make_data(SampleSettings& s) {
  if (is_hetero_graph(s.graph)) {
    HeteroDataset graph = draw_hetero_graph(s.graph);
    Tensor& train = graph.types[static_cast<std::size_t>(graph.target)].split.train;
    s.train = s.train > 0 ? std::min(s.train, train.numel()) : train.numel();
    train = train.slice(0, s.train);
    return {.name = graph.name, .hetero = std::move(graph)};
  }
  if (const auto large = large_graph(s.graph)) {
    s.features = large->features, s.classes = large->classes;
    s.train = std::clamp<std::int64_t>(s.train > 0 ? s.train : large->train, 1, large->nodes);
    SampleData data{.name = large->name, .graph = {}, .x = {}, .label = {}, .train = {}};
    if (s.graph_on == GraphOn::kPeers) {
      const auto cut = graph_rows(s, large->nodes);
      const Adjacency rows =
          draw_rows(*large, cut->first_row(), cut->num_rows(), /*self_loops=*/false, s.device);
      data.graph = Adjacency::sharded(rows.csr(), cut, /*symmetric=*/true);
    } else {
      data.graph = draw_graph(*large, s.device);
    }
    const auto rows = feature_rows(s, large->nodes);
    data.x = draw_features(*large, rows->first_row(), rows->num_rows(), s.dtype, s.device);
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
  const auto rows = feature_rows(s, made.num_nodes);
  const Tensor x = uniform({made.num_nodes, s.features}, -1, 1, {1, 0}, DType::kF32, s.device);
  Adjacency graph = to_graph(made, s.device).adj;
  if (s.graph_on == GraphOn::kPeers) graph = cut_graph(graph, graph_rows(s, made.num_nodes));
  return {made.name, graph,
          x.slice(rows->first_row(), rows->first_row() + rows->num_rows()).clone().to(s.dtype),
          random_labels(made.num_nodes, s.classes, s.device), Tensor::from(train)};
}

/// Prints the kernels of some batches, without a CUDA graph and with sampling beside them, by their time.
void profile(const SampleSettings& s, const SampleData& data) {
  SampleRun run(s, first_batches(s, data, 20));
  KernelTimer timer(s.device, 1);
  {
    const ScopedKernelObserver observe(timer);
    timer.begin_step(1);
    run.loss(/*captured=*/false);
  }
  const auto batches = static_cast<double>(run.num_batches());
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

cxxopts::Options describe_options() {
  cxxopts::Options options("sample_bench", "Times epochs on sampled mini-batches.\n");
  auto add = options.add_options();
  const auto text = [](const char* initial) { return cxxopts::value<std::string>()->default_value(initial); };
  const auto number = [](const char* initial) {
    return cxxopts::value<std::int64_t>()->default_value(initial);
  };
  add("graph",
      "Synthetic graph: " + synthetic_preset_names() +
          "; papers100M, or papers100M/N for an N-th of it, drawn on the device; of several node types, with "
          "reverse relations, " +
          hetero_preset_names() + ", or mag/N",
      text("products"), "NAME");
  add("model", "sage; of several node types rgcn, hetero-sage, rgat or hgt", text("sage"), "NAME");
  add("layers", "Number of layers, that of the fan-outs (default)", number("0"), "N");
  add("heads", "Attention heads of rgat and hgt; --hidden has the columns of all heads", number("4"), "N");
  add("batch", "Target nodes of a batch, for each rank", number("1024"), "N");
  add("fanout", "Edges of a node, hop by hop; of several node types, of each relation",
      cxxopts::value<std::vector<std::int64_t>>()->default_value("15,10,5"), "LIST");
  add("hidden", "Hidden width", number("256"), "N");
  add("train", "Training nodes; 0: 196615, or those of papers100M and of the graphs of several node types",
      number("0"), "N");
  add("epochs", "Timed epochs; the median is reported", number("3"), "N");
  add("dtype", "f32, bf16 or f16", text("f32"), "NAME");
  add("features-on",
      "device; host: page-locked memory, and the rows that are read most on the device; peers: a part on "
      "each "
      "rank, and the rows of others that are read most",
      text("device"), "NAME");
  add("graph-on", "device; peers: the edges into a part of the nodes on each rank", text("device"), "NAME");
  add("feature-cache", "MiB of the device for these rows; -1: half of what is free", number("-1"), "MIB");
  add("tf32", "f32 matrix products round their inputs to TF32");
  add("profile", "Print the kernels of 20 batches by their time");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("gpus", "Numbers of GPUs, e.g. 1,2,4: one run on each", cxxopts::value<std::vector<int>>(), "LIST");
  add("ranks", "The same with processes on --device cpu", cxxopts::value<std::vector<int>>(), "LIST");
  add("h,help", "Print this help");
  return options;
}

/// What models of several node types do not have.
void check_model(const SampleSettings& s) {
  if (!is_hetero_graph(s.graph))
    return check(s.model == "sage", "--graph ", s.graph, " has one node type: --model must be sage, got ",
                 s.model);
  const TrainOptions options = published_options(s.model);
  check(has_relations(options), "--graph ", s.graph, " has several node types: --model must be of rgcn, ",
        "hetero-sage, rgat and hgt, got ", s.model);
  check(!traits_of(options).heads || (s.heads >= 1 && s.hidden % s.heads == 0),
        "--heads must divide --hidden, got ", s.heads, " and ", s.hidden);
  check(s.dtype != DType::kF16, "--dtype f16 is for --model sage");
  check(s.features_on == FeaturesOn::kDevice, "--features-on ", name(s.features_on), " is for --model sage");
  check(s.graph_on == GraphOn::kDevice, "--graph-on ", name(s.graph_on), " is for --model sage");
}

SampleSettings settings_of(const cxxopts::ParseResult& parsed, const Communicator& ranks) {
  SampleSettings s{
      .graph = parsed["graph"].as<std::string>(),
      .batch = parsed["batch"].as<std::int64_t>(),
      .hidden = parsed["hidden"].as<std::int64_t>(),
      .train = parsed["train"].as<std::int64_t>(),
      .fanout = parsed["fanout"].as<std::vector<std::int64_t>>(),
      .epochs = static_cast<int>(parsed["epochs"].as<std::int64_t>()),
      .device = parse_device(parsed["device"].as<std::string>()),
      .dtype = dtype_named(parsed["dtype"].as<std::string>()),
      .features_on = parse_name<FeaturesOn>("--features-on", parsed["features-on"].as<std::string>()),
      .graph_on = parse_name<GraphOn>("--graph-on", parsed["graph-on"].as<std::string>()),
      .cache_mib = parsed["feature-cache"].as<std::int64_t>()};
  check(s.features_on == FeaturesOn::kDevice || s.features_on == FeaturesOn::kHost ||
            s.features_on == FeaturesOn::kPeers,
        "--features-on must be device, host or peers, got '", name(s.features_on), "'");
  check(s.features_on != FeaturesOn::kPeers || ranks.size() > 1,
        "--features-on peers needs several ranks: give --gpus or --ranks above 1");
  check(s.graph_on == GraphOn::kDevice || s.graph_on == GraphOn::kPeers,
        "--graph-on must be device or peers, got '", name(s.graph_on), "'");
  check(s.graph_on != GraphOn::kPeers || ranks.size() > 1,
        "--graph-on peers needs several ranks: give --gpus or --ranks above 1");
  s.model = parsed["model"].as<std::string>(), s.heads = parsed["heads"].as<std::int64_t>();
  const auto layers = parsed["layers"].as<std::int64_t>();
  check(layers == 0 || layers == std::ssize(s.fanout), "--fanout needs a number for each of the ", layers,
        " layers, got ", s.fanout.size());
  check_model(s);
  set_allow_tf32(parsed.count("tf32") > 0);
  s.ranks = ranks;
  s.batch *= ranks.size();
  if (ranks.size() > 1 && s.device.is_cuda()) s.device = ranks.gpu();
  return s;
}

void measure(SampleSettings s, bool profiles) {
  const Communicator& ranks = s.ranks;
  SampleData data = make_data(s);
  const std::string place = place_features(s, data);

  verify_batches(s, data);
  SampleRun bench(s, data);
  const std::vector<EpochReport> epochs = bench.train(s.epochs + 2);
  std::vector<std::pair<double, double>> ms;
  for (int e = 1; e <= s.epochs; ++e) {
    const EpochReport& epoch = epochs[static_cast<std::size_t>(e)];
    const std::vector<double> slowest =
        over_ranks<double>(ranks, {epoch.ms, epoch.batches->wait_ms}, Reduction::kMax);
    ms.emplace_back(slowest[0], slowest[1]);
  }
  std::ranges::sort(ms);
  const BatchTotals& parts = *epochs.back().batches;  // edges and nodes are of all ranks
  const std::vector<double> most = over_ranks<double>(
      ranks,
      {parts.sample_ms, parts.gather_ms, parts.train_ms, static_cast<double>(memory_stats(s.device).peak)},
      Reduction::kMax);
  fmt::print("sample_bench, rodeo {} ({}), {}\n", RODEO_VERSION, RODEO_COMMIT, describe(s.device));
  fmt::print("features {}\n", place);
  const auto [epoch_ms, wait_ms] = ms[ms.size() / 2];
  fmt::print("{:<20}{:<12}{:>6}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>12}{:>12}{:>12}{:>12}{:>10}{:>10}\n",
             "graph", "model", "ranks", "batch", "hidden", "batches", "edges, M", "inputs, M", "epoch, ms",
             "sample, ms", "gather, ms", "train, ms", "wait, ms", "peak, GiB", "seeds/s");
  fmt::print(
      "{:<20}{:<12}{:>6}{:>8}{:>8}{:>10}{:>10.1f}{:>10.1f}{:>10.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>10."
      "2f}"
      "{:>10.0f}\n",
      data.name, s.model, ranks.size(), s.batch, s.hidden, bench.num_batches(),
      static_cast<double>(parts.edges) * 1e-6, static_cast<double>(parts.nodes) * 1e-6, epoch_ms, most[0],
      most[1], most[2], wait_ms, most[3] / (1 << 30), static_cast<double>(s.train) * 1e3 / epoch_ms);
  if (profiles) profile(s, data);
}

/// Runs this program once for each number of ranks. Returns the exit code of the first run that failed.
int run_on(const std::vector<int>& numbers, bool on_gpus, int argc, const char* const* argv) {
  const std::vector<std::string> base = arguments_without(argc, argv, {"--gpus", "--ranks"});
  for (const int ranks : numbers) {
    std::vector<std::string> command = base;
    if (ranks > 1) command.insert(command.end(), {on_gpus ? "--gpus" : "--ranks", str(ranks)});
    std::fflush(stdout);
    if (const int code = launch_ranks(ranks, command); code != 0) return code;
  }
  return 0;
}

int run(int argc, const char* const* argv, const Communicator& ranks) {
  cxxopts::Options options = describe_options();
  const cxxopts::ParseResult parsed = options.parse(argc, argv);
  if (parsed.count("help")) return std::fputs(options.help().c_str(), stdout), 0;
  const bool on_gpus = parsed.count("gpus") > 0;
  check(!on_gpus || parsed.count("ranks") == 0,
        "--gpus and --ranks both say how many ranks to start: leave one out");
  const std::string device = parsed["device"].as<std::string>();
  check(parsed.count("ranks") == 0 || device == "cpu", "--ranks needs --device cpu, got ", device);
  check(!on_gpus || device == "auto" || device == "cuda", "--gpus needs --device cuda, got ", device);
  if (const char* const option = on_gpus ? "gpus" : "ranks"; parsed.count(option) > 0) {
    const auto numbers = parsed[option].as<std::vector<int>>();
    if (!started_as_rank()) return run_on(numbers, on_gpus, argc, argv);
    check(numbers[0] == ranks.size(), "the launcher started ", ranks.size(), " ranks, the options ask for ",
          numbers[0]);
  }
  measure(settings_of(parsed, ranks), parsed.count("profile") > 0);
  return 0;
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  using namespace rodeo;
  int code = 0;
  const int own = run_command_on_ranks(
      "sample_bench", [&](const Communicator& ranks) { code = bench::run(argc, argv, ranks); });
  return own != 0 ? own : code;
}
