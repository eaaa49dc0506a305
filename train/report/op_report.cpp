#include "train/report/op_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/storage.h"
#include "core/text.h"
#include "train/io/json_text.h"

namespace rodeo {

std::string format_op_table(const std::vector<KernelSpan>& spans, int steps) {
  struct Row {
    std::string op;
    std::int64_t calls = 0, bytes = 0;
    double ms = 0;
  };
  std::map<std::string, Row> by_op;
  Row sum{"all"};
  for (const KernelSpan& span : spans)
    for (Row* row : {&by_op[span.op], &sum}) {
      if (row != &sum) row->op = span.op;
      ++row->calls;
      row->bytes += span.bytes;
      row->ms += span.ms;
    }
  if (spans.empty())
    return "profile: no epoch was profiled, as the run was too short: --epochs 8 and more are enough\n";
  std::vector<Row> rows;
  for (const auto& [op, row] : by_op) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.ms > b.ms; });
  rows.push_back(sum);
  std::string table =
      fmt::format("{:<26}{:>8}{:>12}{:>9}{:>14}{:>10}\n", str("op, ", count_of(steps, "epoch")), "calls",
                  "total ms", "share", "bytes", "GB/s");
  for (const Row& row : rows)
    table +=
        fmt::format("{:<26}{:>8}{:>12.3f}{:>7.1f} %{:>14}{:>10.1f}\n", row.op, row.calls, row.ms,
                    sum.ms > 0 ? 100 * row.ms / sum.ms : 0.0, format_bytes(static_cast<double>(row.bytes)),
                    row.ms > 0 ? static_cast<double>(row.bytes) / row.ms / 1e6 : 0.0);
  return table;
}

std::string chrome_trace(const std::vector<KernelSpan>& spans, const std::string& device) {
  constexpr int kKernels = 1, kSteps = 2;
  const auto named = [](const char* what, int thread, const std::string& name) {
    return Json{{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", {{"name", name}}}};
  };
  Json events = {named("process_name", 0, device), named("thread_name", kKernels, "kernels"),
                 named("thread_name", kSteps, "training steps")};
  const auto microseconds = [](double ms) { return ms * 1e3; };
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const KernelSpan& s = spans[i];
    Json arguments = {{"epoch", s.step}, {"bytes", s.bytes}};
    if (!s.gradient_of.empty()) arguments["gradient of"] = s.gradient_of;
    events.push_back({{"name", s.op},
                      {"cat", s.gradient_of.empty() ? "forward" : "backward"},
                      {"ph", "X"},
                      {"ts", microseconds(s.begin_ms)},
                      {"dur", microseconds(s.ms)},
                      {"pid", 1},
                      {"tid", kKernels},
                      {"args", arguments}});
    events.push_back({{"name", "memory of tensors"},
                      {"ph", "C"},
                      {"ts", microseconds(s.begin_ms)},
                      {"pid", 1},
                      {"args", {{"bytes", s.memory}}}});
  }
  for (std::size_t i = 0; i < spans.size();) {
    std::size_t end = i;
    while (end < spans.size() && spans[end].step == spans[i].step) ++end;
    const KernelSpan& last = spans[end - 1];
    events.push_back({{"name", fmt::format("epoch {}", last.step)},
                      {"cat", "step"},
                      {"ph", "X"},
                      {"ts", microseconds(spans[i].begin_ms)},
                      {"dur", microseconds(last.begin_ms + last.ms - spans[i].begin_ms)},
                      {"pid", 1},
                      {"tid", kSteps}});
    i = end;
  }
  return json_text(Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}) + "\n";
}

std::vector<double> memory_over_step(const std::vector<KernelSpan>& spans) {
  std::vector<double> bytes;
  for (const KernelSpan& span : spans)
    if (span.step == spans.back().step) bytes.push_back(static_cast<double>(span.memory));
  return bytes;
}

}  // namespace rodeo
