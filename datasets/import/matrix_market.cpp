#include "datasets/matrix_market.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "datasets/import/text_lines.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/// Splits a line into words.
class Words {
 public:
  explicit Words(std::string_view line) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    line_ = rest_ = line;
  }
  std::string_view line() const { return line_; }  // without leading and trailing blanks
  bool done() const { return rest_.empty(); }
  std::string_view next() {
    std::size_t length = 0;
    while (length < rest_.size() && !is_blank(rest_[length])) ++length;
    const std::string_view word = rest_.substr(0, length);
    while (length < rest_.size() && is_blank(rest_[length])) ++length;
    rest_.remove_prefix(length);
    return word;
  }

 private:
  std::string_view line_, rest_;
};

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool parse_integer(std::string_view word, std::int64_t& out) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  const auto [stop, status] = std::from_chars(word.data(), word.data() + word.size(), out);
  return status == std::errc() && stop == word.data() + word.size();
}

bool parse_real(std::string_view word, double& out) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  const auto [stop, status] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (stop != word.data() + word.size()) return false;
  if (status == std::errc::result_out_of_range) {  // underflow, which is zero, or overflow
    long double wide = std::numeric_limits<long double>::infinity();
    std::from_chars(word.data(), word.data() + word.size(), wide);
    out = static_cast<double>(wide);
  }
  return status != std::errc::invalid_argument && std::isfinite(out);
}

enum class Field { kReal, kInteger, kPattern };
enum class Symmetry { kGeneral, kSymmetric, kSkew };

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  MatrixMarket parse() {
    read_banner();
    read_sizes();
    read_entries();
    MatrixMarket out{rows_, cols_, Tensor::from(row_), Tensor::from(col_), {}};
    if (field_ != Field::kPattern) out.value = Tensor::from(value_);
    return out;
  }

 private:
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail(name_, ": line ", line_, ": ", parts...);
  }

  bool next_line(std::string_view& line) {
    if (text_.empty()) return false;
    const std::size_t length = std::min(text_.find('\n'), text_.size());
    line = text_.substr(0, length);
    text_.remove_prefix(std::min(length + 1, text_.size()));
    ++line_;
    return true;
  }
  /// The next line that is neither blank nor a comment.
  bool next_words(Words& words) {
    std::string_view line;
    while (next_line(line)) {
      words = Words(line);
      if (!words.done() && words.line().front() != '%') return true;
    }
    return false;
  }

  void read_banner() {
    std::string_view line;
    if (!next_line(line)) fail(name_, ": is empty, not a Matrix Market file");
    Words words(line);
    if (lower(words.next()) != "%%matrixmarket" || lower(words.next()) != "matrix")
      wrong("must begin with '%%MatrixMarket matrix', got ", quote(words.line()));
    const std::string format = lower(words.next()), field = lower(words.next()),
                      symmetry = lower(words.next());
    if (format != "coordinate")
      wrong("format must be coordinate, got ", quote(format),
            format == "array" ? ": dense matrices are not supported" : "");
    if (field == "real")
      field_ = Field::kReal;
    else if (field == "integer")
      field_ = Field::kInteger;
    else if (field == "pattern")
      field_ = Field::kPattern;
    else
      wrong("field must be real, integer or pattern, got ", quote(field));
    if (symmetry == "general")
      symmetry_ = Symmetry::kGeneral;
    else if (symmetry == "symmetric")
      symmetry_ = Symmetry::kSymmetric;
    else if (symmetry == "skew-symmetric" && field_ != Field::kPattern)
      symmetry_ = Symmetry::kSkew;
    else
      wrong("symmetry must be general, symmetric or (not of a pattern) skew-symmetric, got ",
            quote(symmetry));
    if (!words.done()) wrong("expected nothing after the symmetry, got ", quote(words.next()));
  }

  void read_sizes() {
    Words words("");
    if (!next_words(words)) fail(name_, ": ends before the line 'rows columns entries'");
    if (!parse_integer(words.next(), rows_) || !parse_integer(words.next(), cols_) ||
        !parse_integer(words.next(), entries_) || !words.done())
      wrong("expected 'rows columns entries', got ", quote(words.line()));
    if (rows_ < 0 || rows_ > kMaxSize || cols_ < 0 || cols_ > kMaxSize)
      wrong("rows and columns must be in [0, 2^31 - 1], got ", rows_, " x ", cols_);
    if (entries_ < 0) wrong("the number of entries must not be negative, got ", entries_);
    if (symmetry_ != Symmetry::kGeneral && rows_ != cols_)
      wrong("a symmetric matrix must be square, got ", rows_, " x ", cols_);
    sizes_line_ = line_;
  }

  void read_entries() {
    // No entry is shorter than "1 1\n": reserve memory by the length of the file if it declares more entries.
    const auto shortest = static_cast<std::int64_t>(text_.size()) / (field_ == Field::kPattern ? 4 : 6) + 1;
    const auto room =
        static_cast<std::size_t>(std::min(entries_, shortest)) * (symmetry_ == Symmetry::kGeneral ? 1 : 2);
    row_.reserve(room);
    col_.reserve(room);
    if (field_ != Field::kPattern) value_.reserve(room);
    Words words("");
    std::int64_t read = 0;
    for (; next_words(words); ++read) {
      if (read == entries_)
        wrong("expected the end after the ", entries_, " entries that line ", sizes_line_, " declares, got ",
              quote(words.line()));
      read_entry(words);
    }
    if (read < entries_)
      fail(name_, ": ends after ", read, " of the ", entries_, " entries that line ", sizes_line_,
           " declares");
  }

  void read_entry(Words& words) {
    std::int64_t row = 0, col = 0;
    double value = 0;
    if (!parse_integer(words.next(), row) || !parse_integer(words.next(), col)) bad_entry(words);
    if (field_ != Field::kPattern && !read_value(words.next(), value)) bad_entry(words);
    if (!words.done()) bad_entry(words);
    if (row < 1 || row > rows_) wrong("row ", row, " is outside [1, ", rows_, "]");
    if (col < 1 || col > cols_) wrong("column ", col, " is outside [1, ", cols_, "]");
    put(row, col, value);
    if (symmetry_ == Symmetry::kGeneral) return;
    if (row != col)
      put(col, row, symmetry_ == Symmetry::kSkew ? -value : value);
    else if (symmetry_ == Symmetry::kSkew)
      wrong("a skew-symmetric matrix has no entry on its diagonal, got ", quote(words.line()));
  }

  bool read_value(std::string_view word, double& value) const {
    if (field_ == Field::kReal) return parse_real(word, value);
    std::int64_t integer = 0;
    if (!parse_integer(word, integer)) return false;
    value = static_cast<double>(integer);
    return true;
  }

  [[noreturn]] void bad_entry(const Words& words) const {
    wrong("expected 'row column",
          field_ == Field::kPattern   ? "'"
          : field_ == Field::kInteger ? " value' with an integer value"
                                      : " value' with a finite value",
          ", got ", quote(words.line()));
  }

  void put(std::int64_t row, std::int64_t col, double value) {
    row_.push_back(static_cast<std::int32_t>(row - 1));
    col_.push_back(static_cast<std::int32_t>(col - 1));
    if (field_ != Field::kPattern) value_.push_back(value);
  }

  std::string_view text_;  // the unread part
  const std::string& name_;
  std::int64_t line_ = 0, sizes_line_ = 0;
  Field field_ = Field::kReal;
  Symmetry symmetry_ = Symmetry::kGeneral;
  std::int64_t rows_ = 0, cols_ = 0, entries_ = 0;
  std::vector<std::int32_t> row_, col_;
  std::vector<double> value_;
};

}  // namespace

MatrixMarket parse_matrix_market(std::string_view text, const std::string& name) {
  return Parser(text, name).parse();
}

MatrixMarket read_matrix_market(const std::string& path) {
  TextLines lines(path);
  std::string text;
  for (std::string_view line; lines.next(line);) (text += line) += '\n';
  return parse_matrix_market(text, path);
}

}  // namespace rodeo
