/// A text file with a value for each key, kept across runs.
#pragma once

#include <optional>
#include <string>

namespace rodeo {

/// After the header each line is one value with tab-separated fields: version of the library, key, value.
/// Files that cannot be read and lines that cannot be parsed are ignored: it never throws.
class CacheLines {
 public:
  /// `path`: in cache_folder(); empty: nothing is kept. Files with another first line than `header` are not
  /// read.
  CacheLines(std::string path, std::string header) : path_(std::move(path)), header_(std::move(header)) {}

  /// Values of other versions of the library are not found.
  std::optional<std::string> find(const std::string& key) const;
  /// Returns why the value could not be kept, as one phrase; empty: it was.
  std::string keep(const std::string& key, const std::string& value) const;

 private:
  std::string path_, header_;
};

}  // namespace rodeo
