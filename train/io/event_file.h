/// Writes TensorBoard's event files: TFRecords of the protocol-buffer message `Event`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file_descriptor.h"

namespace rodeo {

/// CRC-32C (Castagnoli, polynomial 0x1EDC6F41).
std::uint32_t crc32c(std::string_view bytes);

/// Creates events.out.tfevents.TIME.HOST.PROCESS.N in a folder, and the folder if needed. TensorBoard shows
/// all files of a folder as one run. Each call writes its record to the operating system before it returns,
/// so a killed run loses nothing. Errors name the file.
class EventFile {
 public:
  explicit EventFile(const std::string& folder);

  using Scalars = std::vector<std::pair<std::string, double>>;  // by tag
  void scalars(std::int64_t step, const Scalars& values);
  /// Markdown for the "Text" page.
  void text(const std::string& tag, const std::string& value);

  const std::string& path() const { return path_; }

 private:
  void record(const std::string& event);

  std::string path_;
  FileDescriptor file_;
};

}  // namespace rodeo
