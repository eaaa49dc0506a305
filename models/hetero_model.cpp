#include "models/hetero_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/random_streams.h"
#include "core/text.h"
#include "layers/hgt_conv.h"
#include "layers/rgat_conv.h"
#include "layers/rgcn_conv.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/gather_rows.h"
#include "ops/hetero_shard.h"
#include "ops/linear.h"

namespace rodeo {
namespace {

constexpr const HeteroConvKind* kKinds[] = {&kRgcn, &kHeteroSage, &kRgat, &kHgt};

}  // namespace

std::vector<std::string_view> hetero_conv_names() {
  std::vector<std::string_view> names;
  for (const HeteroConvKind* kind : kKinds) names.push_back(kind->name);
  return names;
}

const HeteroConvKind& find_hetero_conv(std::string_view name) {
  for (const HeteroConvKind* kind : kKinds)
    if (kind->name == name) return *kind;
  fail("[hetero_model] there is no model ", name, " of heterogeneous graphs; there are ",
       join(kKinds, ", ", &HeteroConvKind::name));
}

HeteroModel::HeteroModel(const HeteroModelOptions& options, const HeteroGraph& graph, Random random,
                         Device device, DType dtype)
    : options_(options) {
  const auto& o = options;
  check(o.conv != nullptr, "[hetero_model] conv is not set");
  check(o.in.size() == static_cast<std::size_t>(graph.num_types()), "[hetero_model] in must have ",
        graph.num_types(), " entries, one a node type, got ", o.in.size());
  check(o.target >= -1 && o.target < graph.num_types(), "[hetero_model] target must be -1 or in [0, ",
        graph.num_types(), "), got ", o.target);
  check(o.hidden >= 1 && o.classes >= 1 && o.layers >= 1,
        "[hetero_model] hidden, classes and layers must be >= 1, got ", o.hidden, ", ", o.classes, " and ",
        o.layers);
  check(o.dropout >= 0 && o.dropout < 1, "[hetero_model] dropout must be in [0, 1), got ", o.dropout);

  types_.resize(o.in.size());
  for (int t = 0; t < graph.num_types(); ++t) {
    Type& type = types_[static_cast<std::size_t>(t)];
    const std::string& name = graph.type(t).name;
    if (!o.project) {
      check(o.in[static_cast<std::size_t>(t)] == o.in[0] && o.in[0] > 0,
            "[hetero_model] without projections ", "all types need features of one width: ", name, " has ",
            o.in[static_cast<std::size_t>(t)], " columns, and ", graph.type(0).name, " has ", o.in[0]);
    } else if (const std::int64_t in = o.in[static_cast<std::size_t>(t)]; in > 0) {
      type.linear = std::make_unique<Linear>(in, o.hidden, random, true, device, dtype);
      register_module("lins." + name, type.linear.get());
    } else {
      type.rows_name = "embeddings." + name;
      register_parameter(type.rows_name, &type.rows,
                         glorot_uniform(graph.num_nodes(t), o.hidden, random.next(), dtype, device));
    }
  }
  HeteroConvOptions layer_options = o.layer;
  layer_options.types = graph.num_types();
  layer_options.relations = graph.num_relations();
  layer_options.out = o.hidden;
  if (!o.conv->heads) layer_options.heads = 1;
  layers_.resize(static_cast<std::size_t>(o.layers));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    layer_options.in = i == 0 && !o.project ? o.in[0] : o.hidden;
    layer.conv = o.conv->make(layer_options, random, device, dtype);
    register_module(str("convs.", i), layer.conv.get());
    if (o.norm == TrunkNorm::kLayer) {
      layer.layer_norm = std::make_unique<LayerNorm>(o.hidden, 1e-5, true, device, dtype);
      register_module(str("norms.", i), layer.layer_norm.get());
    }
    for (int t = 0; o.norm == TrunkNorm::kBatch && t < graph.num_types(); ++t) {
      layer.batch_norm.push_back(
          std::make_unique<BatchNorm>(o.hidden, BatchNormLayerOptions{}, device, dtype));
      register_module(str("norms.", i, ".", graph.type(t).name), layer.batch_norm.back().get());
    }
  }
  head_ = std::make_unique<Linear>(o.hidden, o.classes, random, true, device, dtype);
  register_module("lin", head_.get());
  random_ = random;
}

std::shared_ptr<RowReads> HeteroModel::read_by_row(const std::string& parameter) {
  for (Type& type : types_) {
    if (!type.rows.defined() || type.rows_name != parameter) continue;
    if (!type.reads) type.reads = std::make_shared<RowReads>(type.rows);
    return type.reads;
  }
  return nullptr;
}

Variable HeteroModel::project(const HeteroGraph& graph, const std::vector<HeteroInput>& inputs) const {
  if (!options_.project) {
    Shape all{0, options_.in[0]};
    for (int t = 0; t < graph.num_types(); ++t) all = {all[0] + rank_nodes(graph, t).count, all[1]};
    check(inputs.size() == 1 && inputs[0].x.defined() && inputs[0].x.shape() == all,
          "[hetero_model] without projections there must be one input with x ", all);
    return inputs[0].x.input();
  }
  check(inputs.size() == types_.size(), "[hetero_model] there must be ", types_.size(),
        " inputs, one a node type, got ", inputs.size());
  const auto given = std::ranges::find_if(inputs, [](const HeteroInput& in) { return in.x.defined(); });
  std::vector<Variable> parts;
  for (std::size_t t = 0; t < types_.size(); ++t) {
    const auto& [x, nodes] = inputs[t];
    const NodeType& type = graph.type(static_cast<int>(t));
    const auto [begin, count] = rank_nodes(graph, static_cast<int>(t));
    if (types_[t].linear) {
      check(x.defined(), "[hetero_model] ", type.name, " has features of ", options_.in[t],
            " columns, got none");
      const Shape expected{count, options_.in[t]};
      check(x.shape() == expected, "[hetero_model] x of ", type.name, " must be ", expected, ", got ",
            x.shape());
      const Linear& projection = *types_[t].linear;
      parts.push_back(
          linear(x, projection.weight(), projection.bias(), {.then = {.activation = Activation::kRelu}}));
    } else {
      const Variable& all = types_[t].rows;
      const Variable rows = nodes.defined() && types_[t].reads ? types_[t].reads->gather(nodes)
                            : nodes.defined()                  ? gather_rows(all, nodes)
                            : graph.is_sharded()               ? rodeo::rows(all, begin, begin + count)
                                                               : all;
      parts.push_back(
          given == inputs.end() || given->x.dtype() == rows.dtype() ? rows : cast(rows, given->x.dtype()));
      check(parts.back().dim(0) == count, "[hetero_model] ", type.name, " has ", count,
            " nodes in the graph, and ", parts.back().dim(0), " trainable rows were selected");
    }
  }
  return parts.size() == 1 ? parts.front() : concat_rows(parts);
}

Variable HeteroModel::normalize(const Layer& layer, const HeteroGraph& graph, const Variable& h,
                                int only) const {
  if (layer.layer_norm) return layer.layer_norm->forward(h);
  if (layer.batch_norm.empty()) return h;
  std::vector<Variable> parts;
  for (int t = 0; t < graph.num_types(); ++t) {
    // A rank without nodes of a type adds nothing to its statistics, together with the others.
    if ((only >= 0 && t != only) || (graph.num_rows(t) == 0 && !graph.is_sharded())) continue;
    const ScopedPartition over(graph.is_sharded() ? &graph.partition(t) : nullptr);
    parts.push_back(layer.batch_norm[static_cast<std::size_t>(t)]->forward(
        rows(h, graph.first_row(t), graph.first_row(t) + graph.num_rows(t))));
  }
  return parts.empty() ? h : parts.size() == 1 ? parts.front() : concat_rows(parts);
}

template <class GraphOf>
Variable HeteroModel::run(const GraphOf& graph_of, const std::vector<HeteroInput>& inputs) {
  Variable h = project(graph_of(0), inputs);
  std::optional<ScopedFirstRow> own_numbers;
  if (graph_of(0).is_sharded()) own_numbers.emplace(first_random_row(graph_of(0)));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const HeteroGraph& graph = graph_of(i);
    const bool is_last = i + 1 == layers_.size();
    h = layers_[i].conv->forward(graph, gather_nodes(graph, h), random_.next());
    h = normalize(layers_[i], graph, h, is_last ? options_.target : -1);
    h = epilogue(std::move(h), {},
                 {.activation = Activation::kRelu,
                  .dropout = training() ? options_.dropout : 0,
                  .key = random_.next()});
  }
  return h;
}

Variable HeteroModel::classify(const Variable& h) const {
  return linear(h, head_->weight(), head_->bias());
}

Variable HeteroModel::forward(const HeteroGraph& graph, const std::vector<HeteroInput>& inputs) {
  const Variable y = classify(embed(graph, inputs));
  return options_.target < 0 ? gather_nodes(graph, y) : y;
}

Variable HeteroModel::embed(const HeteroGraph& graph, const std::vector<HeteroInput>& inputs) {
  return run(
      [&](std::size_t i) {
        const bool is_last = i + 1 == layers_.size() && options_.target >= 0;
        return is_last ? graph.with_targets_of(options_.target) : graph;
      },
      inputs);
}

Variable HeteroModel::forward(const std::vector<HeteroGraph>& blocks,
                              const std::vector<HeteroInput>& inputs) {
  check(blocks.size() == layers_.size(), "[hetero_model] there must be ", layers_.size(),
        " blocks, one a layer, got ", blocks.size());
  for (std::size_t i = 1; i < blocks.size(); ++i)
    for (int t = 0; t < blocks[i].num_types(); ++t)
      check(blocks[i].num_nodes(t) == blocks[i - 1].num_rows(t), "[hetero_model] block ", i, " has ",
            blocks[i].num_nodes(t), " nodes of type ", blocks[i].type(t).name, ", and the one before ",
            blocks[i - 1].num_rows(t), " destinations");
  check(options_.target < 0 || blocks.back().num_rows() == blocks.back().num_rows(options_.target),
        "[hetero_model] the last block must have destinations of type ",
        blocks.back().type(std::max(0, options_.target)).name, " alone");
  return classify(run([&](std::size_t i) -> const HeteroGraph& { return blocks[i]; }, inputs));
}

}  // namespace rodeo
