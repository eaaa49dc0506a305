/// The feature columns of a CSV file of nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/import/csv_table.h"

namespace rodeo {

/// Columns of numbers become columns of x; columns of texts become one column for each text (one-hot), in
/// ascending order of the texts.
class CsvFeatures {
 public:
  /// `missing`: what an empty field and nan become. "error": an Error. "zero": 0. "mean": the mean of the
  /// column's other values. A missing text is 0 in all of its columns.
  CsvFeatures(const std::vector<std::size_t>& columns, std::string missing);

  /// The features of the record that table.next() has read. Throws Error for numbers and texts in one column,
  /// and for more than kMostTexts texts.
  void add(const CsvTable& table, const std::vector<std::string>& fields);
  /// Sets x and num_features; undefined without columns. Returns what was understood. Throws Error for a
  /// column whose texts nearly all differ.
  std::string finish(const CsvTable& table, Dataset& out) const;

 private:
  static constexpr std::size_t kMostTexts = 1000;
  struct Column {
    std::size_t at;                            // in the table
    std::map<std::string, std::int64_t> code;  // of a column of texts: their numbers in order of occurrence
    std::vector<float> values{};               // numbers, or codes; NaN where one is missing
    bool numbers = false;                      // a number was seen
  };
  void expand(const Column& column, float fill, std::int64_t width, float* to) const;

  std::vector<Column> columns_;
  std::string missing_;
  std::int64_t filled_ = 0;
};

}  // namespace rodeo
