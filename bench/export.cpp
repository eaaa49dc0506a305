#include "bench/export.h"

#include <fmt/format.h>

#include <cmath>

#include "core/quoting.h"
#include "core/text.h"

namespace rodeo::bench {
namespace {

std::string number(double value, const char* unknown) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : unknown;
}

// {"key": value, ...}; the values are JSON texts.
std::string object(const std::vector<std::pair<std::string, std::string>>& members) {
  const auto text = [](const auto& member) { return str(json_string(member.first), ": ", member.second); };
  return str("{", join(members, ", ", text), "}");
}

template <class T, class F>
std::string array(const std::vector<T>& items, F&& text) {
  return str(items.empty() ? "[" : "[\n    ", join(items, ",\n    ", text), "]");
}

std::string json(double value) {
  return number(value, "null");
}

std::string json(const Result& r) {
  return object({{"graph", json_string(r.graph)},
                 {"rows", str(r.rows)},
                 {"cols", str(r.cols)},
                 {"edges", str(r.edges)},
                 {"op", json_string(name(r.op))},
                 {"weighted", r.weighted ? "true" : "false"},
                 {"dtype", json_string(name(r.dtype))},
                 {"n", str(r.n)},
                 {"kernel", json_string(r.kernel)},
                 {"peer", r.peer ? "true" : "false"},
                 {"ms", json(r.ms)},
                 {"tbps", json(r.tbps)},
                 {"gflops", json(r.gflops)},
                 {"of_limit", json(r.of_limit)},
                 {"error", json(r.error)},
                 {"verdict", json_string(mark(r.verdict))},
                 {"variant", json_string(r.variant)},
                 {"vs_best", json(r.vs_best)},
                 {"vs_default", json(r.vs_default)}});
}

std::string json(const Summary& s) {
  return object({{"op", json_string(name(s.op))},
                 {"dtype", json_string(name(s.dtype))},
                 {"weighted", s.weighted ? "true" : "false"},
                 {"kernel", json_string(s.kernel)},
                 {"cells", str(s.cells)},
                 {"geometric_mean", json(s.mean)},
                 {"worst", json(s.worst)},
                 {"worst_cell", json_string(s.worst_cell)}});
}

}  // namespace

void write_csv_header(std::ostream& out) {
  out << "graph,rows,cols,edges,op,dtype,weighted,n,kernel,peer,ms,tbps,gflops,of_limit,error,vs_best,vs_"
         "default,verdict,variant\n";
}

void write_csv_rows(const std::vector<Result>& results, std::size_t first, std::ostream& out) {
  for (std::size_t i = first; i < results.size(); ++i) {
    const Result& r = results[i];
    out << csv_field(r.graph) << ',' << r.rows << ',' << r.cols << ',' << r.edges << ',' << name(r.op) << ','
        << r.dtype << ',' << r.weighted << ',' << r.n << ',' << r.kernel << ',' << r.peer;
    for (const double value : {r.ms, r.tbps, r.gflops, r.of_limit, r.error, r.vs_best, r.vs_default})
      out << ',' << number(value, "");
    out << ',' << mark(r.verdict) << ',' << r.variant << '\n';
  }
}

void write_csv(const Report& report, std::ostream& out) {
  write_csv_header(out);
  write_csv_rows(report.results, 0, out);
}

void write_json(const Report& report, std::ostream& out) {
  std::vector<std::pair<std::string, std::string>> header;
  for (const auto& [what, value] : report.header) header.emplace_back(what, json_string(value));
  const auto gather = [](const Limits::Gather& g) {
    return object(
        {{"row_bytes", str(g.row_bytes)}, {"table_bytes", str(g.table_bytes)}, {"tbps", json(g.tbps)}});
  };
  const auto plan = [](const PlanCost& p) {
    return object({{"graph", json_string(p.graph)}, {"plan", json_string(p.plan)}, {"ms", json(p.ms)}});
  };
  out << "{\n  \"header\": " << object(header) << ",\n  \"limits\": "
      << object({{"copy_tbps", json(report.limits.copy)}, {"gathers", array(report.limits.gathers, gather)}})
      << ",\n  \"plans\": " << array(report.plans, plan)
      << ",\n  \"results\": " << array(report.results, [](const Result& r) { return json(r); })
      << ",\n  \"summary\": " << array(summarize(report.results), [](const Summary& s) { return json(s); })
      << ",\n  \"skipped\": " << array(report.skipped, [](const std::string& s) { return json_string(s); })
      << ",\n  \"faults\": " << array(report.faults, [](const std::string& s) { return json_string(s); })
      << "\n}\n";
}

}  // namespace rodeo::bench
