#include "core/device_type.h"

#include <ostream>

namespace rodeo {

std::ostream& operator<<(std::ostream& out, Device device) {
  return device.is_cuda() ? out << "cuda:" << device.index : out << "cpu";
}

}  // namespace rodeo
