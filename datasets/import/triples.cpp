#include <algorithm>
#include <map>

#include "datasets/import.h"
#include "datasets/import/csv_nodes.h"
#include "datasets/import/edges.h"
#include "datasets/import/text_lines.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;

/// A name that files may have: characters that they may not become "_".
std::string relation_name(std::string_view text) {
  std::string name(text);
  if (name.starts_with('<') && name.ends_with('>')) name = name.substr(1, name.size() - 2);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return static_cast<unsigned char>(c) <= ' ' ||
               std::string_view("./:\"\\\x7f").find(c) != std::string::npos;
      },
      '_');
  return name;
}

/// "head TAB relation TAB tail"; without tabs the first two blanks separate, as N-Triples have it.
bool split(std::string_view line, std::string_view (&parts)[3]) {
  const char at = line.find('\t') == std::string_view::npos ? ' ' : '\t';
  for (int i = 0; i < 2; ++i) {
    const std::size_t end = line.find(at);
    if (end == std::string_view::npos) return false;
    parts[i] = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  if (at == ' ' && line.ends_with(" .")) line.remove_suffix(2);
  parts[2] = line;
  return !parts[0].empty() && !parts[1].empty() && !parts[2].empty() &&
         line.find('\t') == std::string_view::npos;
}

}  // namespace

HeteroDataset read_triples(const std::string& path) {
  TextLines lines(path);
  NodeIds ids;
  std::map<std::string, std::size_t, std::less<>> relations;  // text in the file: its number
  std::vector<std::pair<Ids, Ids>> edges;
  HeteroDataset out;
  out.name = stem_of(path);
  out.types.emplace_back().name = "entity";
  std::string_view line, parts[3];
  while (lines.next(line)) {
    if (line.empty() || line.starts_with('#')) continue;
    lines.check_text(line);
    if (!split(line, parts)) lines.wrong("expected head, relation and tail, separated by tabs");
    if (parts[2].starts_with('"')) continue;  // a literal of N-Triples is no node
    const auto [found, is_new] = relations.try_emplace(std::string(parts[1]), relations.size());
    if (is_new) {
      edges.emplace_back();
      out.relations.push_back({relation_name(parts[1]), 0, 0, {}, {}});
    }
    edges[found->second].first.push_back(ids.add(std::string(parts[0])).first);
    edges[found->second].second.push_back(ids.add(std::string(parts[2])).first);
  }
  check(!edges.empty(), path, ": has no triples: expected lines of head, relation and tail");
  std::vector<Ids*> ends;
  for (auto& [src, dst] : edges) ends.push_back(&src), ends.push_back(&dst);
  ids.number_nodes(out.types[0], ends);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    out.relations[i].src = Tensor::from(edges[i].first).to(DType::kI32);
    out.relations[i].dst = Tensor::from(edges[i].second).to(DType::kI32);
  }
  return out;
}

}  // namespace rodeo
