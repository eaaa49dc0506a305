/// How ranks prove that they know the key of their run without telling it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rodeo::comm {

struct HashKey {
  std::uint64_t first = 0, second = 0;
};
/// A key of a text, of any length.
HashKey key_of(const std::string& text);

/// SipHash-2-4 (Aumasson and Bernstein, 2012): who does not know the key cannot compute it, and learns
/// nothing of the key from it.
std::uint64_t keyed_hash(HashKey key, const void* data, std::size_t bytes);

/// From the kernel: nobody can guess them. Throws Error if there are none.
std::uint64_t random_bits();

}  // namespace rodeo::comm
