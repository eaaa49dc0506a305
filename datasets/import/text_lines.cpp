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
  std::size_t searched = begin_;
  std::size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos) {
    searched = buffer_.size() - begin_;
    if (!fill()) {
      if (begin_ == buffer_.size()) return false;
      end = buffer_.size();
      break;
    }
    end = buffer_.find('\n', searched);
  }
  line = std::string_view(buffer_).substr(begin_, end - begin_);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  begin_ = std::min(end + 1, buffer_.size());
  ++line_;
  return true;
}

bool TextLines::next(std::vector<std::string_view>& fields) {
  constexpr std::string_view kBetween = ", \t;";
  std::string_view line;
  while (next(line)) {
    fields.clear();
    std::size_t at = line.find_first_not_of(kBetween);
    if (at == std::string_view::npos || line[at] == '#' || line[at] == '%') continue;
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
