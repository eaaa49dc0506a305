/// Checksums of HDF5 metadata (superblock version 2 and later), so that a test can change a file whose
/// checksums then still fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rodeo::test {

/// Bytes [begin, end) of a file, followed by their checksum.
struct ChecksumBlock {
  std::size_t begin, end;
};

/// Bob Jenkins' lookup3 of bytes [begin, end), the checksum of HDF5 metadata.
std::uint32_t lookup3(const std::string& bytes, std::size_t begin, std::size_t end);

/// The blocks of a valid file: after each four-letter signature, the shortest piece whose checksum follows
/// it.
std::vector<ChecksumBlock> checksum_blocks(const std::string& file);

/// Writes the checksums of these blocks anew.
void refit_checksums(const std::vector<ChecksumBlock>& blocks, std::string& file);

}  // namespace rodeo::test
