/// The options of mini-batches.
#pragma once

#include "train/task/option_group.h"

namespace rodeo {

/// Adds the rows of --batch and of the options that are for it, to the table of a model that reads blocks.
void add_batch_options(OptionGroup training);

}  // namespace rodeo
