/// Reading lines of text files, gzip-compressed or not, without having them in memory whole.
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
  /// Throws Error where the file cannot be opened.
  explicit TextLines(const std::string& path);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  /// The next line without its end; valid until the next call. False at the end of the file. Throws Error for
  /// damaged compression and for lines of more than 64 MiB.
  bool next(std::string_view& line);
  /// The same without blank lines and those that begin with # or %, cut at commas, semicolons and blanks.
  bool next(std::vector<std::string_view>& fields);

  std::int64_t line() const { return line_; }  // of the last one read, from 1
  const std::string& path() const { return path_; }
  /// Throws Error: "edges.csv: line 3: ..."
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail(path_, ": line ", line_, ": ", parts...);
  }
  /// A field as a number; throws Error for anything else, for ids below 0, and for what is not finite.
  std::int64_t id(std::string_view field) const;
  double number(std::string_view field) const;

 private:
  bool fill();

  std::string path_, buffer_;
  std::size_t begin_ = 0;  // of what was not handed out yet
  std::int64_t line_ = 0;
  bool ended_ = false;
  void* file_ = nullptr;
};

/// A piece of a file as it may stand in an error: short, and on one line.
std::string quote(std::string_view text);

}  // namespace rodeo
