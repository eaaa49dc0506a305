/// The rows of the option table for what a training command writes.
#pragma once

#include "train/task/model_registry.h"
#include "train/task/option_group.h"

namespace rodeo {

/// Files and folders: --checkpoint, --export, --log and others.
void add_files(OptionGroup files, const ModelTraits& traits, TaskKind task);
/// What is printed: --explain, --profile, --debug, --quiet.
void add_output(OptionGroup output, const ModelTraits& traits, TaskKind task);

}  // namespace rodeo
