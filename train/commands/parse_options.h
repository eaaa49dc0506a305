/// The command line of the training commands.
#pragma once

#include <vector>

#include "train/task/apply_options.h"
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
///
/// With --sweep the model and the dataset may be missing, because the sweep's file may name them: then no
/// option is set but those of sweeps, dry_run, notice and warnings. parse_trial() has the options of a trial.
TrainOptions parse_train_options(int argc, const char* const* argv, const TrainOptions& defaults = {});

/// The options of one trial: those of --config, overridden by `shared`, by the command line and by `trial`,
/// in this order. `given`, if not null, gets all of them in this order. Throws Error as above.
TrainOptions parse_trial(int argc, const char* const* argv, const TrainOptions& defaults,
                         const std::vector<GivenOption>& shared, const std::vector<GivenOption>& trial,
                         std::vector<GivenOption>* given = nullptr);

}  // namespace rodeo
