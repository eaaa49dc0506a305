#include "train/task/model_registry.h"

#include <array>
#include <cctype>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "ops/spmm_variant.h"

namespace rodeo {

const ModelEntry& find_model(std::string_view name) {
  for (const auto registry : {model_registry(), hetero_model_registry()})
    for (const ModelEntry& entry : registry)
      if (entry.name == name) return entry;
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const ModelEntry& entry : model_registry())
    check(entry.name != lower, "unknown model '", name, "': names are in lower case, --model ", lower);
  fail("unknown model '", name, "': expected one of ", model_names());
}

const ConvTraits& traits_of(const TrainOptions& options) {
  return find_model(options.model).conv->traits;
}

bool has_relations(const TrainOptions& options) {
  return find_model(options.model).relations;
}

bool composes_attention(const TrainOptions& options) {
  const ConvTraits& traits = traits_of(options);
  return traits.heads && options.attention == AttentionForm::kComposed;
}

SpmmAlgorithm spmm_of_steps(const TrainOptions& options) {
  if (options.spmm != SpmmAlgorithm::kAuto || traits_of(options).heads) return options.spmm;
  if (options.task == TaskKind::kGraph) return SpmmAlgorithm::kRode;
  return options.batch > 0 ? SpmmAlgorithm::kCsr : SpmmAlgorithm::kAuto;
}

std::string describe_aggregation(const TrainOptions& options, Device device) {
  const ConvTraits& traits = traits_of(options);
  if (traits.heads && !composes_attention(options)) {
    const std::string_view where = !device.is_cuda()   ? "loop"
                                   : options.batch > 0 ? "kernel, row by row"
                                                       : "kernel, on RoDe's plan";
    return str("attention fused: scores and sums in one ", where);
  }
  if (traits.aggr && options.aggr != Reduce::kSum && options.aggr != Reduce::kMean)
    return str("spmm ", options.aggr, " by its one kernel");
  SpmmAlgorithm spmm = spmm_of_steps(options);
  if (traits.heads && spmm == SpmmAlgorithm::kAuto && device.is_cuda())
    spmm = SpmmAlgorithm::kRode;  // its rule
  std::string sums = str("spmm ", spmm);
  if (rounds_to_tf32(spmm) && options.precision == Precision::kFp32) sums += " (tf32 in the products)";
  if (!traits.heads) return sums;
  return str("attention composed: scores by sddmm ",
             traits.dot_scores ? str("dot (", options.sddmm, ")") : str("add (rows)"), ", sums by ", sums,
             ", gradient of weights by sddmm ", options.sddmm);
}

std::string model_names(std::string_view separator) {
  return join(std::array{join(model_registry(), separator, &ModelEntry::name),
                         join(hetero_model_registry(), separator, &ModelEntry::name)},
              separator);
}

std::string graph_model_names() {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : model_registry())
    if (entry.graphs) names.push_back(entry.name);
  return join(names);
}

TrainOptions published_options(std::string_view model) {
  const ModelEntry& entry = find_model(model);
  TrainOptions options;
  options.model = entry.name;
  if (entry.set_published != nullptr) entry.set_published(options);
  return options;
}

TrainOptions published_options(std::string_view model, TaskKind task) {
  TrainOptions options = published_options(model);
  options.task = task;
  if (task == TaskKind::kNode) return options;
  if (task == TaskKind::kGraph) {
    check(find_model(model).graphs, "--task graph is for --model ", graph_model_names(), ": got ", model);
    options.epochs = 100;
    options.hidden = 32;
    options.layers = 5;
    options.weight_decay = 0;
    return options;
  }
  options.epochs = 300;
  options.lr = 0.01;
  options.weight_decay = 0;
  options.dropout = 0.5;
  options.attention_dropout = 0;
  if (!traits_of(options).heads) options.hidden = 128;
  return options;
}

std::string dense_features_reason(const TrainOptions& options) {
  const ConvTraits& traits = traits_of(options);
  if (traits.aggr && options.aggr != Reduce::kSum && options.aggr != Reduce::kMean)
    return str("--aggr ", options.aggr, " compares features before the first product");
  if (!traits.sparse_inputs) return str("the layers of ", options.model, " read dense features");
  if (options.batch > 0) return "--batch gathers rows of dense features";
  if (is_standard(options.normalize_features))
    return str("--normalize-features ", options.normalize_features, " shifts columns, which fills zeros");
  if (options.edge_features && !traits.heads)
    return "--edge-features adds features of edges to those of neighbours";
  return {};
}

bool uses_trunk(const TrainOptions& options) {
  const TrunkParts& parts = options.trunk;
  const ModelEntry& entry = find_model(options.model);
  const bool sampled = options.batch > 0 && !(entry.preset && entry.preset->on_blocks);
  return entry.preset == nullptr ||
         (!entry.conv->traits.hops &&
          (options.use_trunk || sampled || parts.norm != TrunkNorm::kNone || parts.residual ||
           parts.has_classifier() || parts.pre_linear > 0 || !options.layer_dropout.empty() || !parts.bias ||
           parts.activation != published_options(options.model, options.task).trunk.activation));
}

}  // namespace rodeo
