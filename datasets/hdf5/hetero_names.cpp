#include "datasets/hdf5/hetero_names.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/quoting.h"

namespace rodeo::hdf5 {
namespace {

constexpr std::size_t kMostTypes = 1000, kMostRelations = 10'000, kLongestName = 200;

void check_name(const std::string& name, const std::string& where, const char* what) {
  const bool allowed =
      !name.empty() && name.size() <= kLongestName && std::none_of(name.begin(), name.end(), [](char c) {
        constexpr std::string_view kRefused = "./:\"\\\x7f";
        return static_cast<unsigned char>(c) <= ' ' || kRefused.find(c) != kRefused.npos;
      });
  check(allowed, where, ": the name of a ", what, " must have 1 to ", kLongestName,
        " characters, without blanks, dots, colons, slashes and quotes, got '", printable(name), "'");
}

std::vector<std::string_view> split(std::string_view text, char at, std::size_t most) {
  std::vector<std::string_view> parts;
  if (text.ends_with('\n')) text.remove_suffix(1);
  while (parts.size() <= most) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

int find(const std::vector<std::string>& types, std::string_view name) {
  const auto found = std::find(types.begin(), types.end(), name);
  return found == types.end() ? -1 : static_cast<int>(found - types.begin());
}

}  // namespace

std::string HeteroNames::relation_name(std::size_t relation) const {
  const Relation& r = relations[relation];
  return types[static_cast<std::size_t>(r.source)] + ":" + r.name + ":" +
         types[static_cast<std::size_t>(r.target)];
}

void check_hetero_names(const HeteroNames& names, const std::string& where) {
  check(!names.types.empty() && names.types.size() <= kMostTypes, where, ": must have 1 to ", kMostTypes,
        " node types, got ", names.types.size());
  check(names.relations.size() <= kMostRelations, where, ": must have at most ", kMostRelations,
        " relations, got ", names.relations.size());
  std::set<std::string> seen;
  for (const std::string& type : names.types) {
    check_name(type, where, "node type");
    check(seen.insert(type).second, where, ": names the node type '", type, "' twice");
  }
  const auto types = static_cast<int>(names.types.size());
  for (std::size_t i = 0; i < names.relations.size(); ++i) {
    const auto& [name, source, target] = names.relations[i];
    check_name(name, where, "relation");
    check(source >= 0 && source < types && target >= 0 && target < types, where, ": the relation '", name,
          "' is of a type that is not there");
    check(seen.insert(names.relation_name(i)).second, where, ": names the relation '", names.relation_name(i),
          "' twice");
  }
  check(names.target >= -1 && names.target < types, where, ": the target type is not there");
}

HeteroNames read_hetero_names(const Hdf5File& file) {
  HeteroNames names;
  const std::string &path = file.path(), at = path + ": attribute ";
  const auto types = file.text("node_types"), relations = file.text("relations"),
             target = file.text("target_type");
  check(types.has_value(), at, "node_types is missing: write one text with a line for each node type");
  for (const std::string_view type : split(*types, '\n', kMostTypes)) names.types.emplace_back(type);
  check(relations.has_value(), at, "relations is missing: write one text with a line for each relation");
  for (const std::string_view line : split(*relations, '\n', kMostRelations)) {
    if (relations->empty()) break;
    const std::vector<std::string_view> parts = split(line, ':', 3);
    check(parts.size() == 3, at, "relations must have lines such as author:writes:paper, got '",
          printable(std::string(line.substr(0, kLongestName))), "'");
    const int source = find(names.types, parts[0]), destination = find(names.types, parts[2]);
    check(source >= 0 && destination >= 0, at, "relations: '",
          printable(std::string(line.substr(0, kLongestName))),
          "' names a type that attribute node_types has not");
    names.relations.push_back({std::string(parts[1]), source, destination});
  }
  if (target) {
    names.target = find(names.types, *target);
    check(names.target >= 0, at, "target_type is '", printable(target->substr(0, kLongestName)),
          "', which attribute node_types has not");
  }
  check_hetero_names(names, path);
  return names;
}

}  // namespace rodeo::hdf5
