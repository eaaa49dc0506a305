#include "train/task/apply_options.h"

#include <algorithm>

#include "core/launch_ranks.h"
#include "core/quoting.h"
#include "train/task/fanout.h"
#include "train/task/model_registry.h"
#include "train/task/option_table.h"
#include "train/task/trunk_model.h"

namespace rodeo {
namespace {

struct RenamedOption {
  std::string_view before, now;
};
constexpr RenamedOption kRenamed[] = {{"no-graph", "no-cuda-graph"}};

/// Checks options that need or exclude each other. is_given(name): whether the option has a given value.
template <class IsGiven>
void check_combination(const TrainOptions& o, IsGiven&& is_given) {
  using Kind = LrScheduleOptions::Kind;
  const auto belongs = [&](const char* option, Kind one, Kind other, const char* kinds) {
    check(!is_given(option) || o.schedule.kind == one || o.schedule.kind == other, "--", option,
          " belongs to --lr-schedule ", kinds);
  };
  belongs("lr-step", Kind::kStep, Kind::kStep, "step");
  belongs("lr-factor", Kind::kStep, Kind::kPlateau, "step or plateau");
  belongs("lr-period", Kind::kCosine, Kind::kCosine, "cosine");
  belongs("lr-least", Kind::kCosine, Kind::kPlateau, "cosine or plateau");
  belongs("lr-patience", Kind::kPlateau, Kind::kPlateau, "plateau");
  for (const char* option : {"momentum", "nesterov"})
    check(!is_given(option) || find_optimizer(o.optimizer.name).momentum, "--", option,
          " belongs to --optimizer sgd");
  check(!o.optimizer.nesterov || o.optimizer.momentum > 0, "--nesterov needs --momentum above 0");
  const std::string reason = o.features == FeatureForm::kSparse ? dense_features_reason(o) : "";
  check(reason.empty(), "--features sparse: ", reason);
  check(!o.prune_rows || o.layers >= 2, "--prune-rows needs a layer before the last, got --layers ",
        o.layers);
  check(o.batch > 0 || o.fanout.empty(), "--fanout is for mini-batches: give --batch N too");
  check(o.batch > 0 || !o.replace, "--replace is for mini-batches: give --batch N too");
  check(o.batch == 0 || o.task == TaskKind::kNode, "--batch is for --task node");
  check(o.batch == 0 || !o.sage_loops, "--self-loops is for the whole graph: not with --batch");
  check(o.batch > 0 || !o.batch_by_parts, "--batch-by is for mini-batches: give --batch N too");
  check(!o.batch_by_parts || (o.fanout.empty() && !o.replace),
        "--fanout and --replace are for --batch-by neighbours: parts have all edges between their nodes");
  check(o.batch > 0 || !o.eval_sampled, "--eval is for mini-batches: give --batch N too");
  check(!o.eval_sampled || !o.batch_by_parts,
        "--eval sampled is for --batch-by neighbours: parts have no --fanout");
  check(o.batch > 0 || o.features_on == FeaturesOn::kAuto,
        "--features-on is for mini-batches: give --batch N too");
  check((o.features_on != FeaturesOn::kHost && o.features_on != FeaturesOn::kDisk) ||
            o.features != FeatureForm::kSparse,
        "--features-on ", name(o.features_on),
        " is for dense features, and --features sparse was given: sparse ones stay on the device");
  check(o.features_on != FeaturesOn::kDisk || o.reorder == NodeOrder::kNone,
        "--features-on disk reads rows in the order of the file: not with --reorder; rodeo_data reorder "
        "writes a file in another order");
  check(o.batch > 0 || o.graph_on == GraphOn::kAuto, "--graph-on is for mini-batches: give --batch N too");
  check(o.feature_cache_mib < 0 || o.batch > 0, "--feature-cache is for mini-batches: give --batch N too");
  check(o.feature_cache_mib < 0 || o.features_on != FeaturesOn::kDevice,
        "--feature-cache is for features on the host or on disk, and --features-on device was given");
  if (o.batch > 0) parse_fanout(o.fanout, o.layers, o.replace);
  check(!o.edge_features || o.reorder == NodeOrder::kNone,
        "--edge-features is not for --reorder, which keeps no edge features");
  check_trunk(o);
  check(!uses_trunk(o) || o.task != TaskKind::kGraph,
        "--task graph has no trunk: leave out --norm, --residual, --jk and its other options");
  check(
      o.batch == 0 ||
          (o.class_weights.empty() && o.label_smoothing == 0 && o.metric == NodeMetric::kAccuracy),
      "--batch is for cross entropy and accuracy: not with --metric, --class-weights and --label-smoothing");
  check(!o.prune_rows ||
            (o.class_weights.empty() && o.label_smoothing == 0 && o.metric == NodeMetric::kAccuracy),
        "--prune-rows is for cross entropy and accuracy: not with --metric, --class-weights and "
        "--label-smoothing");
  check(!o.quiet || !o.per_class || !o.log.empty(),
        "--per-class prints a table and --quiet one line: give one of them, or --log FILE for the table");
  check(!o.quiet || !o.explain, "--explain prints a table and --quiet one line: give one of them");
  check(!o.explain || !traits_of(o).aggr || o.aggr == Reduce::kSum || o.aggr == Reduce::kMean,
        "--explain prints the SpMM algorithms, which --aggr ", o.aggr, " does not use");
  const bool over_ranks = std::max(o.gpus, o.ranks) > 1 || started_as_rank();  // it prints their exchange
  check(
      !o.explain || !traits_of(o).heads || composes_attention(o) || over_ranks,
      "--explain prints the SDDMM algorithms, which fused attention does not use: add --attention composed");
  check(o.sddmm == SddmmAlgorithm::kAuto || composes_attention(o),
        "--sddmm is for composed attention: add --attention composed");
  const bool atomic = o.spmm_accumulate == Accumulate::kAtomic;
  check(!atomic || o.spmm == SpmmAlgorithm::kAuto || o.spmm == SpmmAlgorithm::kRode,
        "--spmm-accumulate atomic is for --spmm rode and auto, got --spmm ", o.spmm);
  check(!atomic || o.precision != Precision::kBf16,
        "--spmm-accumulate atomic is for --precision fp32 and tf32, got --precision bf16");
  check(!atomic || !traits_of(o).aggr || o.aggr == Reduce::kSum || o.aggr == Reduce::kMean,
        "--spmm-accumulate atomic is for sums, which --aggr ", o.aggr, " does not compute");
  check(!o.debug || o.stop_at_nan,
        "--debug stops at the first result that is not finite: not with --on-nan continue");
  check(!o.profile || !o.quiet, "--profile prints a table and --quiet one line: give one of them");
  check(!o.stop_on_loss || o.patience > 0, "--stop-on loss needs --patience N, the epochs to wait");
  check(o.checkpoint_every_batches == 0 || (o.batch > 0 && !o.checkpoint.empty()),
        "--checkpoint-every-batches needs --batch N and --checkpoint DIR");
  check(!o.resume || !o.checkpoint.empty(), "--resume needs --checkpoint DIR to resume from");
}

}  // namespace

void apply_options(const std::vector<GivenOption>& given, TrainOptions& options) {
  const std::vector<TrainOption> table = option_table(options);
  const auto find = [&](std::string_view name) {  // the last counts
    const auto found =
        std::find_if(given.rbegin(), given.rend(), [&](const auto& g) { return g.name == name; });
    return found == given.rend() ? nullptr : &*found;
  };
  for (const GivenOption& option : given)
    check(std::any_of(table.begin(), table.end(), [&](const auto& row) { return row.name == option.name; }),
          option.file, option.file.empty() ? "" : ": ", "unknown key '", printable(option.name),
          "'; see --help");
  for (const TrainOption& row : table) {
    const GivenOption* option = find(row.name);
    if (!option) continue;
    try {
      row.set(options, option->text);
    } catch (const Error& error) {
      check(option->file.empty(), option->file, ": ", printable(error.what()));
      throw;
    }
  }
  if (!find("lr-period") || options.schedule.period == 0) options.schedule.period = options.epochs;
  try {
    check_combination(options, find);
  } catch (const Error& error) {
    const std::string_view message = error.what();  // begins with the option that is wrong
    for (const TrainOption& row : table)
      if (const GivenOption* option = find(row.name); option && message.starts_with(str("--", row.name, " ")))
        check(option->file.empty(), option->file, ": ", message);
    throw;
  }
}

std::string_view current_option_name(std::string_view name) {
  for (const RenamedOption& renamed : kRenamed)
    if (renamed.before == name) return renamed.now;
  return name;
}

std::string rename_warning(std::string_view old_name) {
  return str("--", old_name, " was renamed to --", current_option_name(old_name),
             "; the old name will be removed in the next release");
}

}  // namespace rodeo
