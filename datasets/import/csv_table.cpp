#include "datasets/import/csv_table.h"

#include "core/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace rodeo {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kLongest = std::size_t{64} << 20;  // bytes of a quoted field

bool is_number(std::string_view text) {
  return number_in(text).has_value();
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

/// The separator that occurs most often outside quotes; a comma if none does.
char separator_of(std::string_view header) {
  char best = ',';
  std::int64_t most = 0;
  for (const char candidate : {',', ';', '\t'}) {
    std::int64_t count = 0;
    bool quoted = false;
    for (const char c : header) {
      if (c == '"') quoted = !quoted;
      count += !quoted && c == candidate;
    }
    if (count > most) most = count, best = candidate;
  }
  return best;
}

}  // namespace

std::optional<double> number_in(std::string_view field) {
  if (field == "true" || field == "True" || field == "TRUE") return 1;
  if (field == "false" || field == "False" || field == "FALSE") return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || end != field.data() + field.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  return error == std::errc::result_out_of_range ? std::numeric_limits<double>::infinity() : value;
}

bool nearly_all_differ(std::int64_t distinct, std::int64_t count) {
  constexpr std::int64_t kFew = 16;
  return distinct > kFew && 2 * distinct > count;
}

CsvTable::CsvTable(const std::string& path) : lines_(path) {
  std::string_view line;
  do {
    check(lines_.next(line), path, ": is empty: expected a header line with the names of the columns");
  } while (is_blank(line));
  separator_ = separator_of(line);
  parse(line, columns_);
  for (auto name = columns_.begin(); name != columns_.end(); ++name)
    if (!name->empty() && std::find(columns_.begin(), name, *name) != name)
      wrong("two columns are named ", quote(*name), ": rename one");
  if (std::all_of(columns_.begin(), columns_.end(), is_number))
    wrong("expected a header with the names of the columns, got numbers: add one such as 'source,target'");
}

std::string CsvTable::list_columns() const {
  constexpr std::size_t kShown = 20;
  std::string list;
  std::size_t named = 0;
  for (const std::string& name : columns_)
    if (!name.empty() && ++named <= kShown) list += (list.empty() ? "" : ", ") + quote(name);
  if (named == 1) return list + " alone (commas, semicolons or tabs separate columns)";
  return named > kShown ? str(list, " and ", named - kShown, " more") : list;
}

/// Reads a field from its opening quote on, over line breaks; leaves `at` behind it.
void CsvTable::read_quoted(std::string_view& line, std::size_t& at, std::string& field) {
  for (++at;;) {
    const std::size_t end = line.find('"', at);
    field.append(line.substr(at, end - at));
    if (field.size() > kLongest) wrong("a quoted field is longer than 64 MiB: is its quote closed?");
    if (end == std::string_view::npos) {
      if (!lines_.next(line)) wrong("a quote that opens in this record is never closed");
      lines_.check_text(line);
      field += '\n';
      at = 0;
    } else if (end + 1 < line.size() && line[end + 1] == '"') {
      field += '"';
      at = end + 2;
    } else {
      at = std::min(line.find_first_not_of(separator_ == '\t' ? " " : kBlanks, end + 1), line.size());
      if (at < line.size() && line[at] != separator_)
        wrong("text after the closing quote of ", quote(field), ": double the quotes inside a quoted field");
      return;
    }
  }
}

/// Splits a record that begins with `line` into fields.
void CsvTable::parse(std::string_view line, std::vector<std::string>& fields) {
  const std::string_view blanks = separator_ == '\t' ? " " : kBlanks;
  line_ = lines_.line();
  lines_.check_text(line);
  std::size_t count = 0;
  for (std::size_t at = 0;; ++at) {
    std::string& field = count < fields.size() ? fields[count] : fields.emplace_back();
    ++count;
    field.clear();
    at = std::min(line.find_first_not_of(blanks, at), line.size());
    if (at < line.size() && line[at] == '"') {
      read_quoted(line, at, field);
    } else {
      const std::size_t end = std::min(line.find(separator_, at), line.size());
      field = line.substr(at, end - at);
      field.erase(field.find_last_not_of(blanks) + 1);
      at = end;
    }
    if (at >= line.size()) break;
  }
  fields.resize(count);
}

bool CsvTable::next(std::vector<std::string>& fields) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (is_blank(line));
  parse(line, fields);
  if (fields.size() != columns_.size())
    wrong("has ", count_of(std::ssize(fields), "field"), ", the header has ", columns_.size(),
          ": quote fields that hold a separator");
  return true;
}

float CsvTable::number(std::size_t column, const std::string& field, std::string_view hint) const {
  const std::optional<double> value = number_in(field);
  if (!value || !std::isfinite(static_cast<float>(*value)))
    wrong("column ", quote(columns_[column]), " must be a finite number, got ",
          field.empty() ? "nothing" : quote(field), hint);
  return static_cast<float>(*value);
}

}  // namespace rodeo
