/// JSON of files that people also read on a terminal.
#pragma once

#include <string>

#include "core/quoting.h"

namespace rodeo {

/// One line. Bytes that are not UTF-8 become U+FFFD; see json_printable().
template <class Json>
std::string json_text(const Json& json) {
  return json_printable(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace rodeo
