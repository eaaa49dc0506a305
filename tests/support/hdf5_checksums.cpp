#include "tests/support/hdf5_checksums.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace rodeo::test {

std::uint32_t lookup3(const std::string& bytes, std::size_t begin, std::size_t end) {
  constexpr std::uint32_t kStart = 0xdeadbeef;
  std::uint32_t a = kStart + static_cast<std::uint32_t>(end - begin), b = a, c = a;
  const auto mix = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z, int bits) {
    x = (x - z) ^ std::rotl(z, bits);
    z += y;
  };
  const auto finish = [](std::uint32_t& x, std::uint32_t y, int bits) { x = (x ^ y) - std::rotl(y, bits); };
  std::uint32_t words[3];
  constexpr std::size_t kStep = sizeof words;
  for (; end - begin > kStep; begin += kStep) {
    std::memcpy(words, &bytes[begin], kStep);
    a += words[0], b += words[1], c += words[2];
    mix(a, b, c, 4), mix(b, c, a, 6), mix(c, a, b, 8), mix(a, b, c, 16), mix(b, c, a, 19), mix(c, a, b, 4);
  }
  if (begin == end) return c;
  std::memset(words, 0, kStep);
  std::memcpy(words, &bytes[begin], end - begin);
  a += words[0], b += words[1], c += words[2];
  finish(c, b, 14), finish(a, c, 11), finish(b, a, 25), finish(c, b, 16), finish(a, c, 4), finish(b, a, 14);
  finish(c, b, 24);
  return c;
}

std::vector<ChecksumBlock> checksum_blocks(const std::string& file) {
  constexpr std::string_view kSignatures[] = {"OHDR", "OCHK", "BTHD", "BTIN", "BTLF", "FRHP", "FHDB", "FHIB",
                                              "FSHD", "FSSE", "FAHD", "FADB", "EAHD", "EAIB", "EADB", "SMTB"};
  constexpr std::size_t kLongest = 4096;
  std::vector<ChecksumBlock> blocks;
  const auto add = [&](std::size_t begin) {
    for (std::size_t end = begin + 8; end + 4 <= std::min(file.size(), begin + kLongest); ++end) {
      std::uint32_t stored = 0;
      std::memcpy(&stored, &file[end], sizeof stored);
      if (stored == lookup3(file, begin, end)) return blocks.push_back({begin, end});
    }
  };
  add(0);  // the superblock
  for (const std::string_view signature : kSignatures)
    for (std::size_t at = 0; (at = file.find(signature, at)) != std::string::npos; at += signature.size())
      add(at);
  return blocks;
}

void refit_checksums(const std::vector<ChecksumBlock>& blocks, std::string& file) {
  for (const auto& [begin, end] : blocks) {
    if (end + 4 > file.size()) continue;
    const std::uint32_t sum = lookup3(file, begin, end);
    std::memcpy(&file[end], &sum, sizeof sum);
  }
}

}  // namespace rodeo::test
