#include "datasets/import/csv_nodes.h"

#include <algorithm>
#include <array>

#include "datasets/import/csv_columns.h"
#include "datasets/import/csv_features.h"
#include "datasets/import/csv_labels.h"

namespace rodeo {
namespace {

constexpr const char* kParts[] = {"train", "val", "test"};
constexpr const char* kSplitWords = "train, val, test or nothing";

/// Which part of the split a record names: one column with a word, or a column of 0 and 1 for each part.
class SplitColumns {
 public:
  SplitColumns(const CsvTable& table, const CsvRoles& roles) : word_(find_column(table, roles, "split")) {
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

void read_csv_nodes(const std::string& path, const CsvRoles& roles, const CsvOptions& options, NodeIds& ids,
                    Dataset& out) {
  CsvTable table(path);
  const int id = find_column(table, roles, "id");
  check(id >= 0, path, ": has no column 'id'; its columns are ", table.list_columns(),
        ": rename one, or say which by --columns id=NAME");
  const SplitColumns split(table, roles);
  std::vector<int> taken = split.columns();
  CsvLabels labels(table, label_columns(table, roles), options);
  taken.push_back(id);
  taken.insert(taken.end(), labels.columns().begin(), labels.columns().end());
  CsvFeatures features(feature_columns(table, options.features, taken), options.missing);

  std::vector<std::string> fields;
  std::array<std::vector<std::int64_t>, 3> parts;
  while (table.next(fields)) {
    const std::string& name = fields[id];
    if (name.empty()) table.wrong("column ", quote(table.columns()[id]), " must be an id, got nothing");
    if (name.find('\n') != std::string::npos) table.wrong("the id ", quote(name), " has a line break");
    const auto [node, is_new] = ids.add(name, table.line());
    if (!is_new)
      table.wrong("the id ", quote(name), " is already that of line ", ids.line(node),
                  ": each node needs an id of its own");
    labels.add(table, fields);
    if (const int part = split.part(table, fields); part >= 0) parts[part].push_back(node);
    features.add(table, fields);
  }
  check(ids.count() > 0, path, ": has no nodes below its header: expected a line for each");
  out.num_nodes = ids.count();
  ids.name_nodes(out);
  const std::string label_note = labels.finish(table, out);
  if (out.y.defined() && out.y.rank() == 1)
    for (std::size_t part = 0; part < 3; ++part)
      for (const std::int64_t node : parts[part])
        check(out.y.data<std::int64_t>()[node] >= 0, path, ": line ", ids.line(node), ": the node is in ",
              kParts[part], " and has no label: label it, or take it out of the split");
  if (split.given()) out.split = {Tensor::from(parts[0]), Tensor::from(parts[1]), Tensor::from(parts[2])};
  const std::string feature_note = features.finish(table, out);
  if (options.notes) options.notes->insert(options.notes->end(), {label_note, feature_note});
}

}  // namespace rodeo
