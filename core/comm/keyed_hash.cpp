#include "core/comm/keyed_hash.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace rodeo::comm {
namespace {

struct State {
  std::uint64_t v0, v1, v2, v3;

  void mix(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      v0 += v1, v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1, v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2, v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }
  void add(std::uint64_t word) {
    v3 ^= word;
    mix(2);
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t keyed_hash(HashKey key, const void* data, std::size_t bytes) {
  // The ASCII text "somepseudorandomlygeneratedbytes".
  State state{key.first ^ 0x736f6d6570736575, key.second ^ 0x646f72616e646f6d, key.first ^ 0x6c7967656e657261,
              key.second ^ 0x7465646279746573};
  const auto* at = static_cast<const unsigned char*>(data);
  const auto word_of = [&](std::size_t count) {  // the next bytes, the first one lowest
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < count; ++i) word |= std::uint64_t{*at++} << (8 * i);
    return word;
  };
  for (std::size_t i = 0; i < bytes / 8; ++i) state.add(word_of(8));
  state.add(word_of(bytes % 8) | std::uint64_t{bytes} << 56);
  state.v2 ^= 0xff;
  state.mix(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

HashKey key_of(const std::string& text) {
  return {keyed_hash({0, 0}, text.data(), text.size()), keyed_hash({0, 1}, text.data(), text.size())};
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  const bool drawn = ::getrandom(&bits, sizeof(bits), 0) == sizeof(bits);
  check(drawn, "[communicator] no random numbers: ", std::strerror(errno));
  return bits;
}

}  // namespace rodeo::comm
