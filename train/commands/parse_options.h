/// The command line of the training commands.
#pragma once

#include <vector>

#include "train/task/option_table.h"
#include "train/task/options.h"

namespace rodeo {

/// Reads the command line on top of a command's defaults.
/// - One argument without an option is the dataset, unless --dataset names it.
/// - Options of models other than the one trained are unknown options; the error names their models.
/// - With defaults.choose_model, --model NAME decides which published_options are the defaults.
/// - --config FILE reads a settings file first; options on the command line override it.
/// - Old option names are accepted, with a line in `warnings`.
/// Throws Error in one line for an unknown option, a missing or bad value, a stray argument and a missing
/// --dataset. The values of --dataset, --split and --device are checked where they are used.
TrainOptions parse_train_options(int argc, const char* const* argv, const TrainOptions& defaults = {});

}  // namespace rodeo
