/// The trunk (models/trunk.h) as a model of the registry.
#pragma once

#include "train/task/node_run.h"
#include "train/task/options.h"

namespace rodeo {

/// Whether `options` ask for parts that the published model does not have.
bool uses_trunk(const TrainOptions& options);

/// A trunk of options.model's convolution. Weight decay applies to all parameters.
NodeModel make_trunk(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph);

/// "0.5,0.2": probabilities in [0, 1); none of an empty text. Throws Error naming --layer-dropout for
/// anything else.
std::vector<double> parse_layer_dropout(std::string_view text);

/// Throws Error where the options of the trunk exclude each other, or another option.
void check_trunk(const TrainOptions& options);

}  // namespace rodeo
