/// A limit on the address space of this process, for tests of what happens where memory ends.
#pragma once

#include <malloc.h>
#include <sys/resource.h>

#include <cstdint>

#include "core/device.h"
#include "core/error.h"
#include "core/host/address_space.h"

namespace rodeo::test {

/// While it lives, at most `bytes` more than now can be mapped. Not for sanitizers, which map far more.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::int64_t bytes) {
    empty_cache();
    malloc_trim(0);  // what is kept for later is in the address space
    check(::getrlimit(RLIMIT_AS, &before_) == 0, "the limit of the address space cannot be read");
    rlimit small = before_;
    small.rlim_cur = mapped_bytes() + static_cast<rlim_t>(bytes);
    check(::setrlimit(RLIMIT_AS, &small) == 0, "the address space cannot be limited");
  }
  ~AddressSpaceLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace rodeo::test
