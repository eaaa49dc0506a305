/// Files that are there whole or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rodeo {

/// A file that is built beside `path` and takes that name, replacing what had it, by commit() alone: what was
/// there stays as it was until then, and without commit() nothing is left behind. commit() returns when the
/// new contents and the name are on the disk; after a crash at any moment the old file or the new one is
/// there. A symbolic link stays, and its target is replaced. What is not a regular file, as /dev/stdout, is
/// written to directly. Failures are Errors of one line that name the path.
class AtomicFile {
 public:
  /// Creates the file, so that a folder that cannot be written to is told before the work.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::string path_;     // as given: for errors
  std::string target_;   // what is replaced
  std::string partial_;  // the name until commit(); empty: written to directly
  int file_ = -1;
};

/// Replaces the contents of `path` at once.
void write_file(const std::string& path, std::string_view contents);

/// Returns when the names in a folder are on the disk.
void sync_folder(const std::string& folder);

/// What there is at `path`. Throws Error naming it where it cannot be read, or has more than `limit` bytes.
std::string read_file(const std::string& path, std::size_t limit);

}  // namespace rodeo
