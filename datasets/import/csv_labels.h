/// The labels in a CSV file of nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/import.h"
#include "datasets/import/csv_table.h"

namespace rodeo {

/// Labels by CsvOptions: one column of classes, several columns of 0 and 1, or columns of numbers to predict.
class CsvLabels {
 public:
  /// No columns: no labels. Throws Error for `regression` without a column.
  CsvLabels(const CsvTable& table, std::vector<int> columns, const CsvOptions& options);
  const std::vector<int>& columns() const { return columns_; }

  /// The labels of the record that table.next() has read. Throws Error for text where a number is needed.
  void add(const CsvTable& table, std::vector<std::string>& fields);
  /// Sets y, num_classes and class_names. Returns what was understood. Throws Error if no node has a label,
  /// and for values that are no classes, because nearly all differ or many are fractions.
  std::string finish(const CsvTable& table, Dataset& out) const;

 private:
  void add_class(const std::string& text);
  void add_numbers(const CsvTable& table, const std::vector<std::string>& fields);
  std::string finish_classes(const CsvTable& table, Dataset& out) const;
  std::vector<std::int64_t> one_of_each() const;

  std::vector<int> columns_;
  bool regression_, multi_label_;
  std::map<std::string, std::int64_t> codes_of_;  // of one column of classes: the number of each text
  std::vector<std::int64_t> codes_;               // its number for each node, -1 for none
  std::vector<float> numbers_;                    // of others: [nodes, columns], NaN for none
};

}  // namespace rodeo
