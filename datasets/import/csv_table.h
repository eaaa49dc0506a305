/// Streams a CSV file with a header line: RFC 4180, plain or gzip.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/import/text_lines.h"

namespace rodeo {

/// A field that is a number: true and false are 1 and 0; one out of range is infinite.
std::optional<double> number_in(std::string_view field);

/// Whether so many of `count` values differ that they are no categories: names, prices, dates.
bool nearly_all_differ(std::int64_t distinct, std::int64_t count);

/// Fields are separated by commas, semicolons or tabs, whichever the header has most of. A field in double
/// quotes may hold separators, line breaks and doubled quotes. Blanks around other fields are dropped. Line
/// ends are LF, CRLF or CR; a byte order mark and blank lines are skipped. Throws Error for text that is not
/// UTF-8.
class CsvTable {
 public:
  /// Reads the header. Throws Error for a file that cannot be read, no header, UTF-16, two columns of one
  /// name, and a header of numbers only.
  explicit CsvTable(const std::string& path);

  const std::vector<std::string>& columns() const { return columns_; }
  /// "'id', 'label'": the columns that have a name, at most 20, for error texts.
  std::string list_columns() const;

  /// The next record. Returns false at the end. Throws Error for another number of fields than the header
  /// has, and for text after a closing quote or a quote that is never closed.
  bool next(std::vector<std::string>& fields);

  std::int64_t line() const { return line_; }  // where the last record begins, from 1
  const std::string& path() const { return lines_.path(); }
  /// Throws Error: "nodes.csv: line 3: ..."
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail(path(), ": line ", line_, ": ", parts...);
  }
  /// A field as a number; true and false are 1 and 0. Throws Error naming the column, with `hint` at its end,
  /// for other text and for numbers that are not finite in f32.
  float number(std::size_t column, const std::string& field, std::string_view hint = {}) const;

 private:
  void parse(std::string_view line, std::vector<std::string>& fields);
  void read_quoted(std::string_view& line, std::size_t& at, std::string& field);

  TextLines lines_;
  char separator_ = ',';
  std::int64_t line_ = 0;
  std::vector<std::string> columns_;
};

}  // namespace rodeo
