/// Options of sddmm (ops/sddmm.h), which contracts and kernel signatures share.
#pragma once

#include <iosfwd>
#include <string_view>

namespace rodeo {

enum class SddmmOp {
  kDot,  // inner product over the last dimension
  kAdd,  // elementwise sum
  kMul,  // elementwise product
};
std::string_view name(SddmmOp op);
std::ostream& operator<<(std::ostream& out, SddmmOp op);

}  // namespace rodeo
