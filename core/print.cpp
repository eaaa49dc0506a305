#include "core/print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

namespace rodeo {
namespace {

constexpr std::int64_t kGap = -1;

/// The indices of one dimension that are printed; kGap stands for those left out.
std::vector<std::int64_t> shown_indices(std::int64_t n, bool summarise, std::int64_t edge) {
  std::vector<std::int64_t> shown;
  const bool gap = summarise && n / 2 >= edge && n > 2 * edge;
  for (std::int64_t i = 0; i < (gap ? edge : n); ++i) shown.push_back(i);
  if (gap) shown.push_back(kGap);
  for (std::int64_t i = gap ? n - edge : n; i < n; ++i) shown.push_back(i);
  return shown;
}

/// x on the host; of the first dimension, only the entries that are printed.
Tensor host_copy(const Tensor& x, const std::vector<std::int64_t>& shown) {
  const auto gap = std::ranges::find(shown, kGap);
  if (gap == shown.end()) return x.to(kCpu);
  const std::int64_t edge = gap - shown.begin(), n = x.dim(0);
  const Tensor host = Tensor::empty(x.slice(0, 2 * edge).shape(), x.dtype());
  host.slice(0, edge).copy_from(x.slice(0, edge));
  host.slice(edge, 2 * edge).copy_from(x.slice(n - edge, n));
  return host;
}

template <class... Form>
std::string characters(Form... form) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), form...).ptr;
  return {buffer.data(), end};
}

/// One form for all values: the reader compares them.
std::vector<std::string> format(const std::vector<double>& values, int precision) {
  double most = 0, least = std::numeric_limits<double>::infinity();
  bool whole = true;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    whole = whole && v == std::trunc(v);
    if (v != 0) most = std::max(most, std::abs(v)), least = std::min(least, std::abs(v));
  }
  const bool scientific = most >= 1e8 || (!whole && (least < 1e-4 || most / least > 1000));
  std::vector<std::string> cells;
  for (const double v : values) {
    if (std::isnan(v))
      cells.emplace_back("nan");
    else if (std::isinf(v))
      cells.emplace_back(v > 0 ? "inf" : "-inf");
    else if (scientific)
      cells.push_back(characters(v, std::chars_format::scientific, precision));
    else if (whole)
      cells.push_back(characters(v, std::chars_format::fixed, 0) + ".");
    else
      cells.push_back(characters(v, std::chars_format::fixed, precision));
  }
  return cells;
}

std::vector<std::string> format(const std::vector<std::int64_t>& values) {
  std::vector<std::string> cells;
  for (const std::int64_t v : values) cells.push_back(characters(v));
  return cells;
}

class Printer {
 public:
  Printer(const Tensor& x, const PrintOptions& options) : options_(options), rank_(x.rank()) {
    const bool summarise = x.numel() > options.threshold;
    for (int d = 0; d < rank_; ++d) shown_.push_back(shown_indices(x.dim(d), summarise, options.edge_items));
    const Tensor host = rank_ > 0 ? host_copy(x, shown_[0]) : x.to(kCpu);
    std::vector<std::int64_t> offsets;
    collect(host.shape(), 0, 0, offsets);
    const auto pick = [&](const auto& all) {
      std::remove_cvref_t<decltype(all)> some;
      for (const std::int64_t at : offsets) some.push_back(all[static_cast<std::size_t>(at)]);
      return some;
    };
    cells_ = is_float(x.dtype()) ? format(pick(host.to(DType::kF64).to_vector<double>()), options.precision)
                                 : format(pick(host.to(DType::kI64).to_vector<std::int64_t>()));
    for (const std::string& cell : cells_) width_ = std::max(width_, cell.size());
  }

  std::string text() {
    if (rank_ == 0) return cells_[0];
    std::string out;
    append(out, 0);
    return out;
  }

 private:
  /// The offsets of the printed elements, in the order of printing. `host` has no gap in dimension 0.
  void collect(const Shape& host, int d, std::int64_t at, std::vector<std::int64_t>& offsets) const {
    if (d == rank_) return offsets.push_back(at);
    std::int64_t place = 0;
    for (const std::int64_t i : shown_[static_cast<std::size_t>(d)])
      if (i != kGap) collect(host, d + 1, at * host[d] + (d == 0 ? place++ : i), offsets);
  }

  void append(std::string& out, int d) {
    const auto& shown = shown_[static_cast<std::size_t>(d)];
    const std::string indent(static_cast<std::size_t>(d) + 1, ' ');
    out += '[';
    if (d + 1 == rank_) {
      append_row(out, shown, indent);
    } else {
      // Matrices are set apart by an empty line, as in PyTorch.
      const std::string between = std::string(static_cast<std::size_t>(rank_ - d - 1), '\n') + indent;
      for (std::size_t i = 0; i < shown.size(); ++i) {
        if (i > 0) out.append(1, ',').append(between);
        if (shown[i] == kGap)
          out += "...";
        else
          append(out, d + 1);
      }
    }
    out += ']';
  }

  void append_row(std::string& out, const std::vector<std::int64_t>& shown, const std::string& indent) {
    const auto room = static_cast<std::size_t>(options_.line_width);
    std::size_t column = indent.size();
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::size_t width = shown[i] == kGap ? 3 : width_;
      if (i > 0 && column + width + 3 > room) {  // ", " before it, and "," or "]" after it
        out += ",\n" + indent;
        column = indent.size();
      } else if (i > 0) {
        out += ", ";
        column += 2;
      }
      const std::string& cell = shown[i] == kGap ? gap_ : cells_[next_++];
      out += std::string(width - cell.size(), ' ') + cell;
      column += width;
    }
  }

  const PrintOptions& options_;
  int rank_;
  std::vector<std::vector<std::int64_t>> shown_;  // of each dimension
  std::vector<std::string> cells_;                // in the order of printing
  std::size_t width_ = 0, next_ = 0;
  const std::string gap_ = "...";
};

void check_options(const PrintOptions& o) {
  check(o.precision >= 0 && o.precision <= 16, "[print] precision must be in [0, 16], got ", o.precision);
  check(o.threshold >= 0, "[print] threshold must be >= 0, got ", o.threshold);
  check(o.edge_items >= 1, "[print] edge_items must be >= 1, got ", o.edge_items);
  check(o.line_width >= 1, "[print] line_width must be >= 1, got ", o.line_width);
}

}  // namespace

std::string to_text(const Tensor& tensor, const PrintOptions& options) {
  check_options(options);
  if (!tensor.defined()) return "undefined tensor";
  return str(tensor.numel() == 0 ? "[]" : Printer(tensor, options).text(), "\n", tensor.dtype(), " ",
             tensor.shape(), " on ", tensor.device());
}

std::string to_text(const Variable& variable, const PrintOptions& options) {
  if (!variable.defined()) return "undefined variable";
  return to_text(variable.value(), options) + (variable.requires_grad() ? ", requires grad" : "");
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << to_text(tensor);
}

std::ostream& operator<<(std::ostream& out, const Variable& variable) {
  return out << to_text(variable);
}

}  // namespace rodeo
