#include "datasets/import/csv_columns.h"

#include "core/text.h"

#include <algorithm>
#include <cctype>

namespace rodeo {
namespace {

struct Role {
  std::string_view name, usual;  // usual names of its column, between blanks
};
constexpr Role kRoles[] = {
    {"id", " id node node_id "},
    {"label", " label class target "},
    {"split", " split "},
    {"train", " train train_mask "},
    {"val", " val valid validation val_mask "},
    {"test", " test test_mask "},
    {"source", " source src from id1 id_1 "},
    {"target", " target dst to id2 id_2 "},
    {"weight", " weight edge_weight "},
};

const Role* role_named(std::string_view name) {
  for (const Role& role : kRoles)
    if (role.name == name) return &role;
  return nullptr;
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

bool is_usual_name(std::string_view role, std::string_view name) {
  std::string word(" ");
  for (const char c : name) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return !name.empty() && name.find(' ') == std::string_view::npos &&
         role_named(role)->usual.find(word + " ") != std::string_view::npos;
}

CsvRoles parse_roles(const std::string& text) {
  CsvRoles roles;
  if (text.empty()) return roles;
  for (const std::string& part : parts_of(text)) {
    const std::size_t equals = part.find('=');
    check(equals != std::string::npos && equals > 0 && equals + 1 < part.size(),
          "--columns must be ROLE=NAME,..., such as id=paper,label=topic, got ", quote(text));
    const std::string role = part.substr(0, equals);
    check(role_named(role) != nullptr, "--columns: unknown role ", quote(role), ": expected one of ",
          join(kRoles, ", ", &Role::name));
    check(role == "label" || !roles.contains(role), "--columns names two columns for ", role,
          ": only label may have several");
    roles.emplace(role, part.substr(equals + 1));
  }
  return roles;
}

namespace {

int column_named(const CsvTable& table, const std::string& name, std::string_view role) {
  const std::vector<std::string>& columns = table.columns();
  const auto found = std::find(columns.begin(), columns.end(), name);
  check(found != columns.end(), table.path(), ": has no column ", quote(name), " (--columns ", role,
        "=...); its columns are ", table.list_columns());
  return static_cast<int>(found - columns.begin());
}

}  // namespace

int find_column(const CsvTable& table, const CsvRoles& roles, std::string_view role) {
  const std::vector<std::string>& columns = table.columns();
  if (const auto given = roles.find(std::string(role)); given != roles.end())
    return column_named(table, given->second, role);
  int found = -1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns[i];
    if (!is_usual_name(role, name) ||
        std::any_of(roles.begin(), roles.end(), [&](const auto& given) { return given.second == name; }))
      continue;
    check(found < 0, table.path(), ": columns ", quote(found < 0 ? "" : columns[found]), " and ", quote(name),
          " could both be the ", role, ": choose by --columns ", role, "=NAME");
    found = static_cast<int>(i);
  }
  return found;
}

std::vector<int> label_columns(const CsvTable& table, const CsvRoles& roles) {
  const auto [first, last] = roles.equal_range("label");
  std::vector<int> columns;
  for (auto given = first; given != last; ++given) {
    const int column = column_named(table, given->second, "label");
    check(std::find(columns.begin(), columns.end(), column) == columns.end(), "--columns names ",
          quote(given->second), " twice as a label");
    columns.push_back(column);
  }
  if (columns.empty())
    if (const int usual = find_column(table, roles, "label"); usual >= 0) columns.push_back(usual);
  return columns;
}

std::vector<std::size_t> feature_columns(const CsvTable& table, const std::string& list,
                                         const std::vector<int>& taken) {
  const std::vector<std::string>& columns = table.columns();
  const auto is_taken = [&](std::size_t i) {
    return std::find(taken.begin(), taken.end(), static_cast<int>(i)) != taken.end();
  };
  std::vector<bool> chosen(columns.size(), false);
  if (list.empty())
    for (std::size_t i = 0; i < columns.size(); ++i) chosen[i] = !columns[i].empty() && !is_taken(i);
  else
    for (const std::string& part : parts_of(list)) {
      const bool prefix = part.ends_with('*');
      bool fits = false;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (prefix ? is_taken(i) || !columns[i].starts_with(part.substr(0, part.size() - 1))
                   : columns[i] != part)
          continue;
        check(!is_taken(i), "--feature-columns: ", quote(part), " is no feature: it has another role");
        chosen[i] = fits = true;
      }
      if (!fits)
        fail(table.path(), ": no column fits ", quote(part), " of --feature-columns; its columns are ",
             table.list_columns());
    }
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (chosen[i]) out.push_back(i);
  return out;
}

}  // namespace rodeo
