#include "ops/index_checks.h"

#include "core/find_first.h"

namespace rodeo {
namespace {

[[noreturn]] void fail_index(std::string_view op, std::string_view input, std::int64_t position,
                             std::int64_t value, std::int64_t limit) {
  fail("[", op, "] ", input, "[", position, "] = ", value, " is outside [0, ", limit, ")");
}

}  // namespace

void check_indices(std::string_view op, std::string_view input, const Tensor& ids, std::int64_t limit,
                   std::int64_t lowest) {
  if (ids.device().is_cuda()) return;
  const auto* id = ids.data<std::int64_t>();
  const std::int64_t n = ids.numel(),
                     bad = find_first(n, [=](std::int64_t i) { return id[i] < lowest || id[i] >= limit; });
  if (bad < n) fail_index(op, input, bad, id[bad], limit);
}

void check_labels(std::string_view op, const Tensor& label, const Tensor& index, std::int64_t classes) {
  if (index.device().is_cuda()) return;
  const auto *of = label.data<std::int64_t>(), *node = index.data<std::int64_t>();
  const std::int64_t n = index.numel(), bad = find_first(n, [=](std::int64_t i) {
                                          return of[node[i]] < 0 || of[node[i]] >= classes;
                                        });
  if (bad < n) fail_index(op, "label", node[bad], of[node[bad]], classes);
}

}  // namespace rodeo
