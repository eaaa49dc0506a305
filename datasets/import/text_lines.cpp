#include "datasets/import/text_lines.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

namespace rodeo {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20, kLongest = std::size_t{64} << 20;

gzFile handle(void* file) {
  return static_cast<gzFile>(file);
}

}  // namespace

TextLines::TextLines(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  check(fs::exists(path), path, ": no such file");
  check(!fs::is_directory(path), path, ": is a directory, not a text file");
  file_ = gzopen(path.c_str(), "rb");
  check(file_ != nullptr, path, ": cannot be opened");
  gzbuffer(handle(file_), kPiece);
}

TextLines::~TextLines() {
  gzclose_r(handle(file_));
}

bool TextLines::fill() {
  if (ended_) return false;
  buffer_.erase(0, begin_);
  begin_ = 0;
  check(buffer_.size() <= kLongest, path_, ": line ", line_ + 1,
        " is longer than 64 MiB: this is no text file");
  const std::size_t known = buffer_.size();
  buffer_.resize(known + kPiece);
  const int got = gzread(handle(file_), buffer_.data() + known, kPiece);
  int code = Z_OK;
  gzerror(handle(file_), &code);
  check(got >= 0 && (code == Z_OK || code == Z_STREAM_END), path_, ": is truncated or damaged");
  buffer_.resize(known + static_cast<std::size_t>(got));
  ended_ = got == 0;
  return !ended_;
}

bool TextLines::next(std::string_view& line) {
  std::size_t size = 0, end = 0;  // of the line, and where the next one begins, both counted from begin_
  for (std::size_t searched = 0;;) {
    const std::string_view rest = std::string_view(buffer_).substr(begin_);
    const std::size_t feed = std::min(rest.find('\n', searched), rest.size());
    size = std::min(rest.substr(0, feed).find('\r', searched), feed);
    end = std::min(size + (size + 1 == feed ? 2 : 1), rest.size());
    // The line goes on, or a line feed follows its carriage return, where the buffer ends.
    const bool open = size == rest.size() || (size < feed && end == rest.size());
    const bool empty = rest.empty();
    if (!open || (!fill() && !empty)) break;
    if (ended_) return false;
    searched = size;
  }
  line = std::string_view(buffer_).substr(begin_, size);
  begin_ += end;
  if (++line_ > 1) return true;
  check(!line.starts_with("\xff\xfe") && !line.starts_with("\xfe\xff"), path_,
        ": is UTF-16: save it as UTF-8");
  check(!line.starts_with("version https://git-lfs"), path_,
        ": is a pointer of Git LFS, not the file itself: fetch it by git lfs pull");
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  return true;
}

void TextLines::check_text(std::string_view line) const {
  for (std::size_t at = 0; at < line.size();) {
    const auto c = static_cast<unsigned char>(line[at++]);
    if (c == 0) wrong("has a zero byte: this is no text, or UTF-16 text: save the file as UTF-8");
    if (c < 0x80) continue;
    std::size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    bool good = c >= 0xc2 && c <= 0xf4;
    for (; good && more > 0; --more)
      good = at < line.size() && (static_cast<unsigned char>(line[at++]) & 0xc0) == 0x80;
    if (!good)
      wrong("is no UTF-8 text: convert the file, such as by iconv -f latin1 -t utf-8, or decompress it");
  }
}

bool TextLines::next(std::vector<std::string_view>& fields) {
  constexpr std::string_view kBetween = ", \t;";
  std::string_view line;
  while (next(line)) {
    fields.clear();
    std::size_t at = line.find_first_not_of(kBetween);
    if (at == std::string_view::npos || line[at] == '#' || line[at] == '%') continue;
    check_text(line);
    while (at != std::string_view::npos) {
      const std::size_t end = std::min(line.find_first_of(kBetween, at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(kBetween, end);
    }
    return true;
  }
  return false;
}

std::int64_t TextLines::id(std::string_view field) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size() || value < 0)
    wrong("expected an integer of at least 0, got ", quote(field));
  return value;
}

double TextLines::number(std::string_view field) const {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size() || !std::isfinite(value))
    wrong("expected a finite number, got ", quote(field));
  if (!std::isfinite(static_cast<float>(value)))
    wrong("expected a number in the range of f32, got ", quote(field));
  return value;
}

std::string quote(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kShown ? "...'" : "'");
}

}  // namespace rodeo
