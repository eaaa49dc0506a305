/// Submatrices of the first columns. They wait for the device and are not recorded for backward.
#pragma once

#include "ops/select_rows.h"

namespace rodeo {

/// [rows, cols]: of each row of adj its edges from the first `cols` columns, in their order, and their
/// positions in adj. For batches: as with sampled_graph(), products measure no locality. Deterministic: the
/// same on every device. Throws Error for cols outside [0, adj.cols()].
RowSelection select_first_columns(const Adjacency& adj, std::int64_t cols);

}  // namespace rodeo
