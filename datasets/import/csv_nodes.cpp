#include "datasets/import/csv_nodes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "datasets/import/csv_columns.h"

namespace rodeo {
namespace {

constexpr const char* kParts[] = {"train", "val", "test"};
constexpr const char* kFeatureHint = ": choose features by --feature-columns, or give it a role by --columns";
constexpr const char* kSplitWords = "train, val, test or nothing";

/// A label that is an integer, also written 4.0.
std::optional<std::int64_t> integer_label(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double kLargest = 1e15;  // integers up to here are exact
  if (error != std::errc{} || end != text.data() + text.size() || value != std::floor(value) ||
      std::abs(value) > kLargest)
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

/// The labels of a column: the distinct texts, and the number of its text for each node, -1 for none.
class Labels {
 public:
  void add(const std::string& text) {
    if (text.empty()) return codes_.push_back(-1);
    codes_.push_back(codes_of_.try_emplace(text, static_cast<std::int64_t>(codes_of_.size())).first->second);
  }

  /// Sets y, num_classes and class_names. Integers 0, 1, ..., C - 1 are classes; other texts become classes
  /// in ascending order and keep their names. A negative integer is no label if all labels are integers.
  void classify(const std::string& where, Dataset& out) {
    check(!codes_of_.empty(), where, " is empty: fill it, or leave the column out");
    std::vector<std::int64_t> class_of(codes_of_.size(), -1);
    std::map<std::int64_t, std::int64_t> integers;  // value, class
    bool all_integers = true, negative = false;
    for (const auto& [text, code] : codes_of_) {
      const std::optional<std::int64_t> value = integer_label(text);
      all_integers &= value.has_value();
      negative |= value.value_or(0) < 0;
      if (value.value_or(-1) >= 0) integers.emplace(*value, 0);
    }
    if (all_integers) {
      check(!negative || integers.size() > 1, where, " has ", integers.size(),
            " class besides negative numbers, which mean unlabelled: write names of classes, and nothing for "
            "unlabelled nodes");
      for (auto& [value, number] : integers) {
        number = static_cast<std::int64_t>(out.class_names.size());
        out.class_names.push_back(std::to_string(value));
      }
      if (integers.rbegin()->first + 1 == static_cast<std::int64_t>(integers.size())) out.class_names.clear();
      for (const auto& [text, code] : codes_of_)
        if (const std::int64_t value = *integer_label(text); value >= 0) class_of[code] = integers[value];
    } else {
      for (const auto& [text, code] : codes_of_) {  // a map is sorted by text
        class_of[code] = static_cast<std::int64_t>(out.class_names.size());
        out.class_names.push_back(text);
      }
    }
    out.num_classes = 0;
    for (std::int64_t& code : codes_) {
      if (code >= 0) code = class_of[code];
      out.num_classes = std::max(out.num_classes, code + 1);
    }
    out.y = Tensor::from(codes_);
  }

 private:
  std::map<std::string, std::int64_t> codes_of_;
  std::vector<std::int64_t> codes_;
};

/// Which part of the split a record names: one column with a word, or a column of 0 and 1 for each part.
class SplitColumns {
 public:
  SplitColumns(const CsvTable& table, const std::map<std::string, std::string>& roles)
      : word_(find_column(table, roles, "split")) {
    int found = 0;
    for (std::size_t i = 0; i < 3; ++i)
      flags_[i] = find_column(table, roles, kParts[i]), found += flags_[i] >= 0;
    check(found == 0 || word_ < 0, table.path(),
          ": has a split twice, a column of words and columns of train, val and test");
    check(found == 0 || found == 3, table.path(),
          ": a split needs three columns of 0 and 1, train, val and test, got ", found);
  }
  bool given() const { return word_ >= 0 || flags_[0] >= 0; }
  std::vector<int> columns() const { return {word_, flags_[0], flags_[1], flags_[2]}; }

  /// The part of the record, 0 to 2; -1 for none.
  int part(const CsvTable& table, const std::vector<std::string>& fields) const {
    if (word_ >= 0) {
      const std::string& word = fields[word_];
      if (word.empty() || word == "none") return -1;
      for (int i = 0; i < 3; ++i)
        if (word == kParts[i]) return i;
      if (word == "valid" || word == "validation") return 1;
      table.wrong("column ", quote(table.columns()[word_]), " must be ", kSplitWords, ", got ", quote(word));
    }
    int chosen = -1;
    for (int i = 0; i < 3 && given(); ++i) {
      const std::string& field = fields[flags_[i]];
      const float flag = field.empty() ? 0 : table.number(flags_[i], field);
      if (flag != 0 && flag != 1)
        table.wrong("column ", quote(table.columns()[flags_[i]]), " must be 0 or 1, got ", quote(field));
      if (flag == 0) continue;
      if (chosen >= 0) table.wrong("the node is in ", kParts[chosen], " and in ", kParts[i]);
      chosen = i;
    }
    return chosen;
  }

 private:
  int word_;
  std::array<int, 3> flags_{};
};

}  // namespace

void read_csv_nodes(const std::string& path, const std::map<std::string, std::string>& roles,
                    const std::string& features, NodeIds& ids, Dataset& out) {
  CsvTable table(path);
  const int id = find_column(table, roles, "id"), label = find_column(table, roles, "label");
  check(id >= 0, path, ": has no column 'id'; its columns are ", table.list_columns(),
        ": rename one, or say which by --columns id=NAME");
  const SplitColumns split(table, roles);
  std::vector<int> taken = split.columns();
  taken.insert(taken.end(), {id, label});
  const std::vector<std::size_t> columns = feature_columns(table, features, taken);

  std::vector<std::string> fields;
  std::vector<float> x;
  Labels labels;
  std::array<std::vector<std::int64_t>, 3> parts;
  while (table.next(fields)) {
    const std::string& name = fields[id];
    if (name.empty()) table.wrong("column ", quote(table.columns()[id]), " must be an id, got nothing");
    if (name.find('\n') != std::string::npos) table.wrong("the id ", quote(name), " has a line break");
    const auto [node, is_new] = ids.add(name, table.line());
    if (!is_new)
      table.wrong("the id ", quote(name), " is already that of line ", ids.line(node),
                  ": each node needs an id of its own");
    if (label >= 0) {
      std::replace(fields[label].begin(), fields[label].end(), '\n', ' ');
      labels.add(fields[label]);
    }
    if (const int part = split.part(table, fields); part >= 0) parts[part].push_back(node);
    for (const std::size_t column : columns) x.push_back(table.number(column, fields[column], kFeatureHint));
  }
  out.num_nodes = ids.count();
  ids.name_nodes(out);
  if (label >= 0) {
    labels.classify(str(path, ": column ", quote(table.columns()[label])), out);
    for (std::size_t part = 0; part < 3; ++part)
      for (const std::int64_t node : parts[part])
        check(out.y.data<std::int64_t>()[node] >= 0, path, ": line ", ids.line(node), ": the node is in ",
              kParts[part], " and has no label: label it, or take it out of the split");
  }
  if (split.given()) out.split = {Tensor::from(parts[0]), Tensor::from(parts[1]), Tensor::from(parts[2])};
  if (columns.empty()) return;
  out.num_features = static_cast<std::int64_t>(columns.size());
  out.x = Tensor::from(x, {out.num_nodes, out.num_features});
}

}  // namespace rodeo
