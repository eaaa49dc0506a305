#include <algorithm>
#include <filesystem>

#include "datasets/import.h"
#include "datasets/import/csv_columns.h"
#include "datasets/import/csv_nodes.h"
#include "datasets/import/edges.h"

namespace rodeo {
namespace {

struct Edges {
  std::vector<std::int64_t> src, dst;
  std::vector<float> weight;
};

Edges read_edges(const CsvOptions& options, const CsvRoles& roles, NodeIds& ids) {
  CsvTable table(options.edges);
  const int source = find_column(table, roles, "source"), target = find_column(table, roles, "target");
  const int weight = find_column(table, roles, "weight");
  check(source >= 0 && target >= 0, options.edges, ": has no column '", source < 0 ? "source" : "target",
        "'; its columns are ", table.list_columns(), ": rename one, or say which by --columns ",
        source < 0 ? "source" : "target", "=NAME");
  Edges edges;
  std::vector<std::string> fields;
  while (table.next(fields)) {
    edges.src.push_back(end_of_edge(table, source, fields[source], options.nodes, ids));
    edges.dst.push_back(end_of_edge(table, target, fields[target], options.nodes, ids));
    if (weight >= 0) edges.weight.push_back(table.number(weight, fields[weight]));
  }
  return edges;
}

}  // namespace

Dataset read_csv(const CsvOptions& options) {
  check(!options.edges.empty(), "a CSV import needs --edges FILE with columns source and target");
  check(!options.nodes.empty() || options.features.empty(), "--feature-columns belongs to --nodes FILE");
  check(!options.nodes.empty() || (!options.regression && !options.multi_label && options.missing == "error"),
        "--regression, --multi-label and --missing belong to --nodes FILE");
  const CsvRoles roles = parse_roles(options.columns);
  for (const auto& [role, name] : roles)
    check(!options.nodes.empty() || role == "source" || role == "target" || role == "weight", "--columns ",
          role, "=... belongs to --nodes FILE");
  Dataset out;
  out.name = stem_of(options.nodes.empty() ? options.edges : options.nodes);
  NodeIds ids;
  if (!options.nodes.empty()) read_csv_nodes(options.nodes, roles, options, ids, out);
  Edges edges = read_edges(options, roles, ids);
  check(!options.nodes.empty() || !edges.src.empty(), options.edges,
        ": has no edges below its header: expected a line for each");
  if (options.nodes.empty()) ids.number_nodes(out, {&edges.src, &edges.dst});
  check(out.num_nodes < (std::int64_t{1} << 31), options.edges, ": more than 2^31 - 1 nodes");
  out.src = Tensor::from(edges.src).to(DType::kI32);
  out.dst = Tensor::from(edges.dst).to(DType::kI32);
  if (!edges.weight.empty()) out.edge_weight = Tensor::from(edges.weight);
  if (options.undirected) make_undirected(out);
  return out;
}

}  // namespace rodeo
