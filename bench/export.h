/// Results as CSV and JSON.
#pragma once

#include <cstddef>
#include <ostream>
#include <vector>

#include "bench/results.h"

namespace rodeo::bench {

/// The line of column names.
void write_csv_header(std::ostream& out);

/// One line for each of results[first], results[first + 1], ... Unknown numbers are empty.
void write_csv_rows(const std::vector<Result>& results, std::size_t first, std::ostream& out);

/// Both of a whole report.
void write_csv(const Report& report, std::ostream& out);

/// {"header": {...}, "limits": {"copy_tbps", "gathers": [...]}, "plans": [...], "results": [...],
///  "summary": [...], "skipped": [...], "faults": [...]}; unknown numbers are null.
void write_json(const Report& report, std::ostream& out);

}  // namespace rodeo::bench
