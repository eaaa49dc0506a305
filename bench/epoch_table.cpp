#include "bench/epoch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "core/quoting.h"
#include "train/task/model_registry.h"

namespace rodeo::bench {
namespace {

std::string attention_of(const TrainOptions& options) {
  if (!traits_of(options).heads) return "";
  return std::string(name(composes_attention(options) ? AttentionForm::kComposed : AttentionForm::kFused));
}

// The columns of CSV and JSON, in the order of scripts/pyg_epoch.py.
struct Column {
  const char* name;
  std::string (*text)(const EpochRow&);
};
constexpr Column kColumns[] = {
    {"graph", [](const EpochRow& r) { return r.graph; }},
    {"model", [](const EpochRow& r) { return r.options.model; }},
    {"hidden", [](const EpochRow& r) { return str(r.options.hidden); }},
    {"heads", [](const EpochRow& r) { return str(traits_of(r.options).heads ? r.options.heads : 1); }},
    {"epoch_ms", [](const EpochRow& r) { return fmt::format("{:.4f}", r.summary.epoch_ms.median); }},
    {"sparse_ms", [](const EpochRow& r) { return fmt::format("{:.4f}", r.summary.parts.sparse.median); }},
    {"gemm_ms", [](const EpochRow& r) { return fmt::format("{:.4f}", r.summary.parts.gemm.median); }},
    {"other_ms", [](const EpochRow& r) { return fmt::format("{:.4f}", r.summary.parts.other.median); }},
    {"peak_bytes", [](const EpochRow& r) { return str(r.summary.peak_bytes); }},
    {"kernels", [](const EpochRow& r) { return r.summary.kernels > 0 ? str(r.summary.kernels) : ""; }},
    {"of_roofline",
     [](const EpochRow& r) { return r.of_roofline >= 0 ? fmt::format("{:.3f}", r.of_roofline) : ""; }},
    {"features", [](const EpochRow& r) { return r.features; }},
    {"reorder", [](const EpochRow& r) { return std::string(name(r.reorder)); }},
    {"reorder_ms", [](const EpochRow& r) { return fmt::format("{:.1f}", r.reorder_ms); }},
    {"precision", [](const EpochRow& r) { return std::string(name(r.options.precision)); }},
    {"ranks", [](const EpochRow& r) { return str(r.ranks); }},
    {"communication_ms",
     [](const EpochRow& r) {
       return r.ranks > 1 ? fmt::format("{:.4f}", r.summary.parts.communication.median) : "";
     }},
    {"nodes", [](const EpochRow& r) { return str(r.nodes); }},
    {"edges", [](const EpochRow& r) { return str(r.edges); }},
    {"columns", [](const EpochRow& r) { return str(r.columns); }},
    {"classes", [](const EpochRow& r) { return str(r.classes); }},
    {"layers", [](const EpochRow& r) { return str(r.options.layers); }},
    {"aggregation", [](const EpochRow& r) { return std::string(name(r.options.aggregation)); }},
    {"spmm", [](const EpochRow& r) { return std::string(name(r.options.spmm)); }},
    {"attention", [](const EpochRow& r) { return attention_of(r.options); }},
    {"sddmm", [](const EpochRow& r) { return std::string(name(r.options.sddmm)); }},
    {"loss", [](const EpochRow& r) { return fmt::format("{:.9g}", r.loss); }},
    {"exchange_ms",
     [](const EpochRow& r) { return r.ranks > 1 ? fmt::format("{:.4g}", r.rates.exchange_ms) : ""; }},
    {"exchange_gb_s", [](const EpochRow& r) {
       return r.ranks > 1 ? fmt::format("{:.4g}", r.rates.exchange_bytes / 1e6) : "";
     }}};
constexpr std::string_view kTexts[] = {"graph",       "model", "features",  "reorder", "precision",
                                       "aggregation", "spmm",  "attention", "sddmm"};

}  // namespace

void write_epoch_csv(const std::vector<EpochRow>& rows, std::ostream& out) {
  const char* comma = "";
  for (const Column& column : kColumns) out << comma << column.name, comma = ",";
  for (const EpochRow& row : rows) {
    comma = "\n";
    for (const Column& column : kColumns) out << comma << csv_field(column.text(row)), comma = ",";
  }
  out << '\n';
}

void write_epoch_json(const std::vector<EpochRow>& rows, std::ostream& out) {
  const char* line = "[\n";
  for (const EpochRow& row : rows) {
    out << line << "  {";
    const char* comma = "";
    for (const Column& column : kColumns) {
      const std::string text = column.text(row), name = column.name;
      const bool quoted = std::ranges::find(kTexts, name) != std::end(kTexts);
      out << comma << '"' << name << "\": ";
      if (quoted)
        out << json_string(text);
      else
        out << (text.empty() || text == "nan" ? "null" : text);
      comma = ", ";
    }
    out << '}';
    line = ",\n";
  }
  out << "\n]\n";
}

void print_epoch_header() {
  fmt::print(
      "{:<20} {:<5} {:>6} {:>5} {:>11} {:>11} {:>10} {:>10} {:>10} {:>8} {:>12} {:>8} {:>8} {:>11} {:>9} "
      "{:>8} "
      "{:>9} {:>10}\n",
      "graph", "model", "hidden", "heads", "epoch, ms", "sparse, ms", "GEMM, ms", "other, ms", "peak, GiB",
      "kernels", "of roofline", "features", "reorder", "reorder, ms", "precision", "spmm", "attention",
      "loss");
}

void print_epoch_row(const EpochRow& r) {
  const StepParts& parts = r.summary.parts;
  const auto text = [&](std::size_t column) {
    const std::string given = kColumns[column].text(r);
    return given.empty() ? std::string("-") : given;
  };
  fmt::print(
      "{:<20} {:<5} {:>6} {:>5} {:>11.3f} {:>11.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>8} {:>12} {:>8} {:>8} "
      "{:>11.1f} {:>9} {:>8} {:>9} {:>10.6f}\n",
      r.graph, r.options.model, r.options.hidden, text(3), r.summary.epoch_ms.median, parts.sparse.median,
      parts.gemm.median, parts.other.median, static_cast<double>(r.summary.peak_bytes) / (1 << 30), text(9),
      text(10), r.features, name(r.reorder), r.reorder_ms, name(r.options.precision), name(r.options.spmm),
      attention_of(r.options), r.loss);
  std::fflush(stdout);
}

}  // namespace rodeo::bench
