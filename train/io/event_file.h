/// TensorBoard's event files: records framed as TFRecord, each a protocol-buffer message `Event`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rodeo {

/// CRC-32C (Castagnoli, polynomial 0x1EDC6F41) of some bytes.
std::uint32_t crc32c(std::string_view bytes);

/// A new file in a folder, which is made if it is not there: events.out.tfevents.TIME.HOST.PROCESS. Several
/// files in one folder are one run. Every scalars() reaches the system before it returns, so that what a
/// killed run wrote can be seen. Failures are Errors that name the file.
class EventFile {
 public:
  explicit EventFile(const std::string& folder);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  using Scalars = std::vector<std::pair<std::string, double>>;  // by tag
  void scalars(std::int64_t step, const Scalars& values);
  /// A text, as the "Text" page shows it: Markdown.
  void text(const std::string& tag, const std::string& value);

  const std::string& path() const { return path_; }

 private:
  void record(const std::string& event);

  std::string path_;
  int file_ = -1;
};

}  // namespace rodeo
