#include "train/io/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

// One byte per step is fast enough: a run writes kilobytes.
constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t kReversedPolynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? kReversedPolynomial : 0);
    table[i] = value;
  }
  return table;
}
constexpr auto kTable = make_table();

// The masked CRC of the TFRecord format.
std::uint32_t masked(std::uint32_t crc) {
  return std::rotr(crc, 15) + 0xa282ead8u;
}

template <class T>
std::string little_endian(T value) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// A protocol-buffer field begins with number * 8 + type. Types: 0 varint, 1 eight bytes, 2 length and bytes,
// 5 four bytes.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
std::string key(int field, int type) {
  return varint(static_cast<std::uint64_t>(field * 8 + type));
}
std::string bytes_field(int field, std::string_view bytes) {
  return key(field, 2) + varint(bytes.size()) + std::string(bytes);
}
std::string integer_field(int field, std::int64_t value) {
  return key(field, 0) + varint(static_cast<std::uint64_t>(value));
}
std::string float_field(int field, float value) {
  return key(field, 5) + little_endian(value);
}

// Fields of Event: 1 wall_time, 2 step, 3 file_version, 5 summary.
std::string event(std::int64_t step, const std::string& content) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return key(1, 1) + little_endian(now) + integer_field(2, step) + content;
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || !*name) return "localhost";
  for (char* c = name; *c; ++c)
    if (*c == '/') *c = '_';
  return name;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff];
  return ~crc;
}

EventFile::EventFile(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check(std::filesystem::is_directory(folder), folder,
        ": cannot be made: ", error ? error.message() : "it is there, and no folder");
  const auto time =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  // The final number makes the names of two files of one process and second different, and keeps their order.
  for (int i = 0; file_.get() < 0; ++i) {
    path_ = str(folder, "/events.out.tfevents.", time.count(), ".", host_name(), ".", ::getpid(), ".", i);
    file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
    check(file_.get() >= 0 || errno == EEXIST, path_, ": cannot be written: ", std::strerror(errno));
  }
  record(event(0, bytes_field(3, "brain.Event:2")));
}

// A record: length u64, its masked CRC, the bytes, their masked CRC.
void EventFile::record(const std::string& event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  append_record(
      file_.get(), path_,
      length + little_endian(masked(crc32c(length))) + event + little_endian(masked(crc32c(event))));
}

// Fields of Summary: 1 value, repeated. Of a value: 1 tag, 2 simple_value, 8 tensor, 9 metadata.
void EventFile::scalars(std::int64_t step, const Scalars& values) {
  std::string summary;
  for (const auto& [tag, value] : values)
    summary += bytes_field(1, bytes_field(1, tag) + float_field(2, static_cast<float>(value)));
  record(event(step, bytes_field(5, summary)));
}

// Fields of TensorProto: 1 dtype (7: string), 2 shape (2 dim, 1 size), 8 string_val. Of the metadata:
// 1 plugin_data, 1 plugin_name.
void EventFile::text(const std::string& tag, const std::string& value) {
  const std::string tensor =
      integer_field(1, 7) + bytes_field(2, bytes_field(2, integer_field(1, 1))) + bytes_field(8, value);
  const std::string metadata = bytes_field(1, bytes_field(1, "text"));
  record(event(0, bytes_field(5, bytes_field(1, bytes_field(1, tag) + bytes_field(9, metadata) +
                                                    bytes_field(8, tensor)))));
}

}  // namespace rodeo
