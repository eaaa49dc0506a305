#include "train/task/train_option.h"

#include <fmt/format.h>

#include <type_traits>

namespace rodeo {

std::string to_text(const OptionValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return std::string();
        else
          return fmt::format("{}", v);
      },
      value);
}

bool TrainOption::is_of(TaskKind task) const {
  using enum OptionFlag;
  const bool of_all = !is(kNode) && !is(kLink) && !is(kGraph);
  return of_all || is(task == TaskKind::kNode ? kNode : task == TaskKind::kLink ? kLink : kGraph);
}

}  // namespace rodeo
