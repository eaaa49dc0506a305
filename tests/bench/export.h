/// Results as CSV and JSON.
#pragma once

#include <ostream>

#include "tests/bench/results.h"

namespace rodeo::bench {

/// A line of column names, then one line per result. Unknown numbers are empty.
void write_csv(const Report& report, std::ostream& out);

/// {"header": {...}, "limits": {"copy_tbps", "gathers": [...]}, "plans": [...], "results": [...],
///  "summary": [...], "skipped": [...], "faults": [...]}; unknown numbers are null.
void write_json(const Report& report, std::ostream& out);

}  // namespace rodeo::bench
