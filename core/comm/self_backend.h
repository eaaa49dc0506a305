/// One rank: every collective is a copy, on any device.
#pragma once

#include <memory>

#include "core/comm/backend.h"

namespace rodeo::comm {

std::shared_ptr<Backend> make_self_backend();

}  // namespace rodeo::comm
