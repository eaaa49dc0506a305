#include <algorithm>
#include <charconv>
#include <numeric>

#include "datasets/import/csv_nodes.h"

namespace rodeo {
namespace {

/// Reads an integer that is written as Rodeo writes it: 7, not 07 or +7.
bool read_integer(const std::string& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::to_string(value) == text;
}

}  // namespace

std::int64_t NodeIds::find(const std::string& id) const {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? -1 : found->second;
}

std::pair<std::int64_t, bool> NodeIds::add(const std::string& id, std::int64_t line) {
  const auto [place, is_new] = numbers_.try_emplace(id, count());
  if (is_new) {
    ids_.push_back(&place->first);
    lines_.push_back(line);
  }
  return {place->second, is_new};
}

std::vector<std::int64_t> NodeIds::integers() const {
  std::vector<std::int64_t> values(ids_.size());
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (!read_integer(*ids_[i], values[i])) return {};
  return values;
}

std::vector<std::int64_t> NodeIds::ascending() const {
  const std::vector<std::int64_t> values = integers();
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return values[a] < values[b]; });
  return order;
}

void NodeIds::number_nodes(Dataset& out, const std::vector<std::vector<std::int64_t>*>& all_ends) const {
  const std::vector<std::int64_t> order = ascending();
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  for (auto* ends : all_ends)
    for (std::int64_t& node : *ends)
      if (!place.empty()) node = place[static_cast<std::size_t>(node)];
  out.num_nodes = count();
  name_nodes(out, order);
}

void NodeIds::name_nodes(Dataset& out, const std::vector<std::int64_t>& order) const {
  const auto at = [&](std::size_t i) { return order.empty() ? i : static_cast<std::size_t>(order[i]); };
  const std::vector<std::int64_t> values = integers();
  if (values.empty()) {
    for (std::size_t i = 0; i < ids_.size(); ++i) out.node_names.push_back(*ids_[at(i)]);
    return;
  }
  std::vector<std::int64_t> ids(values.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = values[at(i)];
  bool numbered = true;
  for (std::size_t i = 0; i < ids.size(); ++i) numbered &= ids[i] == static_cast<std::int64_t>(i);
  if (!numbered) out.node_id = Tensor::from(ids);
}

std::int64_t end_of_edge(const CsvTable& table, int column, const std::string& id, const std::string& nodes,
                         NodeIds& ids) {
  const auto name = [&] { return quote(table.columns()[static_cast<std::size_t>(column)]); };
  if (id.empty()) table.wrong("column ", name(), " must be an id, got nothing");
  if (nodes.empty()) {
    if (id.find('\n') != std::string::npos) table.wrong("the id ", quote(id), " has a line break");
    return ids.add(id).first;
  }
  const std::int64_t node = ids.find(id);
  if (node < 0)
    table.wrong(
        "column ", name(), ": ", nodes, " has no id ", quote(id),
        ": add the node there, leave the edge out, or name another column of ids by --columns id=NAME");
  return node;
}

}  // namespace rodeo
