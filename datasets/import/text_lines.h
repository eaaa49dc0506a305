/// Streams the lines of a text file, plain or gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace rodeo {

class TextLines {
 public:
  /// Throws Error if the file cannot be opened.
  explicit TextLines(const std::string& path);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  /// The next line without its line end (LF, CRLF or CR) and byte order mark, valid until the next call.
  /// Returns false at the end of the file. Throws Error for damaged gzip data, lines of more than 64 MiB and
  /// UTF-16.
  bool next(std::string_view& line);
  /// The fields of the next line, separated by commas, semicolons and blanks. Skips blank lines and lines
  /// that begin with # or %. Throws Error as check_text() does.
  bool next(std::vector<std::string_view>& fields);

  /// Throws Error where a part of the line read last is not UTF-8, or has a zero byte.
  void check_text(std::string_view part) const;

  std::int64_t line() const { return line_; }  // number of the last line read, from 1
  const std::string& path() const { return path_; }
  /// Throws Error: "edges.csv: line 3: ..."
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail(path_, ": line ", line_, ": ", parts...);
  }
  /// A field as a number. Throws Error for negative ids, for numbers that are not finite in f32, and for
  /// other text.
  std::int64_t id(std::string_view field) const;
  double number(std::string_view field) const;

 private:
  bool fill();

  std::string path_, buffer_;
  std::size_t begin_ = 0;  // of the unread part of buffer_
  std::int64_t line_ = 0;
  bool ended_ = false;
  void* file_ = nullptr;
};

/// A part of a file quoted for an error text: shortened, without control characters.
std::string quote(std::string_view text);

}  // namespace rodeo
