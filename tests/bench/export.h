/// The results for programs.
#pragma once

#include <ostream>

#include "tests/bench/results.h"

namespace rodeo::bench {

/// One line a result under a line of column names; what is not known is empty.
void write_csv(const Report& report, std::ostream& out);

/// {"header": {...}, "limits": {"copy_tbps", "gathers": [...]}, "plans": [...], "results": [...],
///  "summary": [...], "skipped": [...]}; what is not known is null.
void write_json(const Report& report, std::ostream& out);

}  // namespace rodeo::bench
