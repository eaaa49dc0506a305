/// The parts of the option table. Each part has a file, <part>_options.cpp, with its rows, which go under one
/// heading of --help, and a function that checks them together with what they depend on. An option is one row
/// there; `traits` say whether the model has it, the flags of a row which tasks do.
#pragma once

#include <vector>

#include "train/task/model_registry.h"
#include "train/task/option_group.h"

namespace rodeo {

using enum OptionRole;
using enum OptionFlag;
/// The heading of what chooses and times kernels, and where data are: in --help kernels.
inline constexpr std::string_view kKernels = "Kernels";

/// The graph, and what is predicted.
void add_data_options(OptionGroup data);

/// The layers.
void add_model_options(OptionGroup model, const ModelEntry& entry);
void check_model_options(const TrainOptions& options);

/// Parts around the layers (models/trunk.h). check_trunk() is their check.
void add_trunk_options(OptionGroup model);

/// The optimizer and its learning rate; the second function has the rows that come last.
void add_optimizer_options(OptionGroup training, const ModelEntry& model);
void add_schedule_options(OptionGroup training);
void check_schedule_options(const TrainOptions& options);

/// How many runs, and how long each is.
void add_run_options(OptionGroup training);
void check_run_options(const TrainOptions& options);

/// What a step reads: the whole graph, or mini-batches.
void add_source_options(OptionGroup training, const ConvTraits& traits);
void check_source_options(const TrainOptions& options);

/// The loss, and the metric that decides the best epoch.
void add_criterion_options(OptionGroup training);

/// Devices, ranks, kernels and number formats.
void add_execution_options(OptionGroup execution, const ConvTraits& traits);
void check_execution_options(const TrainOptions& options);

/// Files and folders that a run writes.
void add_file_options(OptionGroup files, const ConvTraits& traits);
void check_file_options(const TrainOptions& options);

/// What is printed.
void add_output_options(OptionGroup output);
void check_output_options(const TrainOptions& options);

}  // namespace rodeo
