/// JSON of files that people also read on a terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/quoting.h"
#include "train/epoch_report.h"

namespace rodeo {

using Json = nlohmann::ordered_json;

/// One line, or lines that are indented. Bytes that are not UTF-8 become U+FFFD; see json_printable().
/// Doubles are read back with the same bits.
inline std::string json_text(const Json& json, int indent = -1) {
  return json_printable(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

inline void to_json(Json& json, const Evaluation& e) {
  json = {{"train", e.train}, {"val", e.val}, {"test", e.test}, {"val_loss", e.val_loss}};
}

}  // namespace rodeo
