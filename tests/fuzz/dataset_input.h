/// Damaged dataset files.
#pragma once

#include <cstdint>
#include <string>

namespace rodeo::fuzz {

/// An HDF5 file. Even numbers: valid HDF5 whose arrays and attributes contradict the schema or each other.
/// Odd numbers: changed bytes of a valid dataset; where its metadata has checksums, they are made to fit.
std::string dataset_input(std::uint64_t seed, std::uint64_t number);
/// Such inputs made from a file with two node types and two relations.
std::string hetero_input(std::uint64_t seed, std::uint64_t number);

}  // namespace rodeo::fuzz
