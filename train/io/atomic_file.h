/// Files that are replaced atomically: readers see the old contents or the new ones, never a part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rodeo {

/// Writes a temporary file beside `path`; commit() syncs it and renames it to `path`. Without commit() the
/// temporary file is removed and `path` is unchanged. After a crash `path` holds the old file or the new one.
/// Where it goes: core/output_path.h. Terminals and pipes are written to directly. Errors are one line that
/// names the path.
class AtomicFile {
 public:
  /// Creates the temporary file. Construct it before long work, so that an unwritable folder fails early.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();
  /// Whether it is written to directly: the reader of a pipe takes a close for the end.
  bool is_direct() const { return file_ >= 0 && partial_.empty(); }

 private:
  std::string path_;     // as given, for error messages
  std::string target_;   // the file to replace
  std::string partial_;  // the temporary file; empty: target_ is written to directly
  int file_ = -1;
};

/// Appends a record to an open file at once: readers see whole records. Errors name `path`.
void append_record(int file, const std::string& path, std::string_view record);

/// Replaces the contents of `path` atomically.
void write_file(const std::string& path, std::string_view contents);

/// Syncs the file names of a folder to the disk.
void sync_folder(const std::string& folder);

/// The contents of a file. Throws Error naming it if it cannot be read or has more than `limit` bytes.
std::string read_file(const std::string& path, std::size_t limit);

}  // namespace rodeo
