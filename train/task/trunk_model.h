/// Models of the registry: each is a trunk (models/trunk.h), the published ones with their preset.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/trunk.h"
#include "train/task/node_run.h"
#include "train/task/options.h"

namespace rodeo {

/// The model for a graph of nodes. Weight decay applies to all parameters, or as it was published.
NodeModel make_model(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph);

/// The classifier of TaskKind::kGraph. A published one has dropout after the pooling only, a trunk in each
/// layer too; features have none.   in, edge_in: columns of features of nodes and edges
std::unique_ptr<Trunk> make_graph_classifier(const TrainOptions& options, std::int64_t in,
                                             std::int64_t edge_in, std::int64_t classes, Device device);

/// "GIN of graphs, 5 layers, 32 hidden, dropout 0.5, sum pooling"
std::string describe_graph_classifier(const TrainOptions& options);

/// "0.5,0.2": probabilities in [0, 1); none of an empty text. Throws Error naming --layer-dropout for
/// anything else.
std::vector<double> parse_layer_dropout(const std::string& text);

/// Throws Error where the options of the trunk exclude each other, or another option.
void check_trunk(const TrainOptions& options);

}  // namespace rodeo
