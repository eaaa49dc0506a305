#include "ops/grouped_linear.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/outputs.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/kernels/dense.h"

namespace rodeo {
namespace {

/// [segments, blocks, in / blocks, out / blocks]
Tensor as_blocks(const Tensor& w) {
  return w.rank() == 4 ? w : w.reshape({w.dim(0), 1, w.dim(1), w.dim(2)});
}

/// Sets rows of y that no segment writes to zero. Returns which segments add to what earlier ones wrote.
/// `folds`: y has `fold` rows for each row of a segment.
std::vector<kernels::GroupedRows> plan_rows(const std::vector<RowSegment>& segments, bool folds,
                                            const Tensor& y) {
  std::vector<kernels::GroupedRows> plan;
  std::vector<std::pair<std::int64_t, std::int64_t>> written;  // disjoint ranges
  bool mixed = false;  // some range was written in part: all of y begins with zeros
  for (const RowSegment& s : segments) {
    const std::int64_t begin = s.y_begin, end = begin + s.rows * (folds ? s.fold : 1);
    bool adds = false;
    for (const auto& [first, last] : written) {
      if (end <= first || last <= begin) continue;
      adds = true;
      mixed = mixed || begin < first || last < end;
    }
    if (!adds && s.rows > 0) written.emplace_back(begin, end);
    plan.push_back({s, adds});
  }
  if (mixed) {
    y.fill(0);
    for (kernels::GroupedRows& s : plan) s.adds = true;
    return plan;
  }
  std::ranges::sort(written);
  written.emplace_back(y.dim(0), y.dim(0));
  std::int64_t at = 0;
  for (const auto& [begin, end] : written) {
    if (at < begin) y.slice(at, begin).fill(0);
    at = end;
  }
  return plan;
}

/// f(rows of y of a segment, their elements of bias): grouped_linear has a row of `bias` for each segment,
/// fan_out_linear for each matrix.
template <class F>
void for_each_bias(const Tensor& bias, const std::vector<RowSegment>& segments, bool fans_out,
                   const Tensor& y, const F& f) {
  std::int64_t at = 0;
  for (const RowSegment& s : segments) {
    const std::int64_t fold = fans_out ? s.fold : 1;
    f(kernels::side_by_side(y, s.y_begin, s.rows, fold), kernels::joined_rows(bias, at, fold));
    at += fold;
  }
}

/// w [matrices, blocks, k, n]; `transposed`: [matrices, blocks, n, k], and y is folded instead of x. Adds to
/// `sum` where it is defined, and returns it.
Tensor product(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows, const Tensor& w,
               bool transposed, const Tensor& bias = {}, const Tensor& sum = {}) {
  const std::int64_t columns = w.dim(1) * w.dim(transposed ? 2 : 3);
  const Tensor y = sum.defined() ? sum : Tensor::empty({rows, columns}, x.dtype(), x.device());
  if (y.numel() == 0 || (sum.defined() && x.numel() == 0)) return y;
  if (x.numel() == 0) {
    y.fill(0);
    if (bias.defined())
      for_each_bias(bias, segments, transposed, y, [&](const Tensor& part, const Tensor& b) {
        if (part.numel() > 0) kernels::add_bias.on(y.device())(part, b, part);
      });
    return y;
  }
  std::vector<kernels::GroupedRows> plan;
  if (sum.defined())
    for (const RowSegment& segment : segments) plan.push_back({segment, /*adds=*/true});
  else
    plan = plan_rows(segments, transposed, y);
  kernels::grouped_matmul.on(y.device())(x, w, transposed, plan, bias, y);
  return y;
}

void check_range(const char* op, std::size_t s, std::string_view what, std::int64_t begin, std::int64_t count,
                 std::int64_t limit) {
  check(begin >= 0 && count >= 0 && begin + count <= limit, "[", op, "] segment ", s, " has the rows [",
        begin, ", ", begin + count, ") of ", what, ", which has ", limit);
}

/// `fans_out`: of fan_out_linear.
void check_operands(const char* op, bool fans_out, const Tensor& x, const std::vector<RowSegment>& segments,
                    std::int64_t rows, const Tensor& w, const Tensor& bias) {
  check_matrix(op, "x", x);
  check_beside(op, "x", x, "w", w);
  check(rows >= 0, "[", op, "] rows must be at least 0, got ", rows);
  const char* sides = fans_out ? "out, in" : "in, out";
  const char* parts = fans_out ? "out / blocks, in / blocks" : "in / blocks, out / blocks";
  check(w.rank() == 3 || w.rank() == 4, "[", op, "] w must be [matrices, ", sides, "] or [matrices, blocks, ",
        parts, "], got ", w.shape());
  std::int64_t matrices = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const RowSegment& at = segments[s];
    check(at.fold >= 1, "[", op, "] fold of segment ", s, " must be at least 1, got ", at.fold);
    check_range(op, s, "x", at.x_begin, at.rows * (fans_out ? 1 : at.fold), x.dim(0));
    check_range(op, s, "y", at.y_begin, at.rows * (fans_out ? at.fold : 1), rows);
    matrices += at.fold;
  }
  const Tensor blocks = as_blocks(w);
  const int in = fans_out ? 3 : 2, out = fans_out ? 2 : 3;
  check(w.dim(0) == matrices && blocks.dim(1) * blocks.dim(in) == x.dim(1), "[", op, "] w must have ",
        matrices, " matrices for ", x.dim(1), " columns of x, got ", w.shape());
  if (!bias.defined()) return;
  check_beside(op, "x", x, "bias", bias);
  check_shape(
      op, "bias", bias,
      {fans_out ? matrices : static_cast<std::int64_t>(segments.size()), blocks.dim(1) * blocks.dim(out)});
}

std::vector<RowSegment> swapped(std::vector<RowSegment> segments) {
  for (RowSegment& s : segments) std::swap(s.x_begin, s.y_begin);
  return segments;
}

Tensor forward(const char* op, bool fans_out, const Tensor& x, const std::vector<RowSegment>& segments,
               std::int64_t rows, const Tensor& w, const Tensor& bias) {
  check_operands(op, fans_out, x, segments, rows, w, bias);
  return product(x, segments, rows, as_blocks(w.to(x.dtype())), fans_out,
                 bias.defined() ? bias.to(sum_dtype(x.dtype())) : bias);
}

/// What backward reads of one product.
struct Kept {
  std::vector<RowSegment> segments;
  bool fans_out;
  SavedTensor w;  // undefined where x does not learn
  bool w_learns;
  Shape w_shape;
  DType w_dtype;
  Tensor db_like;  // undefined where no bias learns
};

/// dw and db, undefined where they do not learn; zero where dy is undefined.
std::pair<Tensor, Tensor> weight_gradients(const Kept& of, const Tensor& x, const Tensor& dy) {
  Tensor dw, db;
  const Device device = x.device();
  if (of.db_like.defined()) db = Tensor::zeros(of.db_like.shape(), sum_dtype(x.dtype()), device);
  const bool has_products = dy.defined() && dy.numel() > 0 && x.dim(0) > 0 && of.w_shape.numel() > 0;
  if (of.w_learns) {
    dw = has_products ? Tensor::empty(of.w_shape, of.w_dtype, device)
                      : Tensor::zeros(of.w_shape, of.w_dtype, device);
    const auto& kernel = kernels::grouped_matmul_transposed.on(device);
    if (has_products && of.fans_out)
      kernel(dy, x, swapped(of.segments), as_blocks(dw), {});
    else if (has_products)
      kernel(x, dy, of.segments, as_blocks(dw), db);
  }
  const bool is_summed = of.w_learns && has_products && !of.fans_out;
  if (db.defined() && dy.defined() && !is_summed && dy.dim(1) > 0)
    for_each_bias(db, of.segments, of.fans_out, dy,
                  [&](const Tensor& part, const Tensor& sum) { kernels::sum_rows.on(device)(part, sum); });
  return {dw, db.defined() ? db.to(of.db_like.dtype()) : db};
}

std::vector<Variable> products_of(const Variable& x, const std::vector<GroupedProduct>& products) {
  std::vector<Tensor> y;
  std::vector<Kept> kept;
  std::vector<SavedTensor> saved;
  std::vector<Variable> inputs{x};
  bool weights_learn = false;
  for (const auto& [segments, rows, w, bias, fans_out, recompute] : products) {
    const Tensor b = bias.defined() ? bias.value() : Tensor();
    const auto compute = [=, s = segments, r = rows, f = fans_out](const Tensor& of_x, const Tensor& of_w) {
      return forward(f ? "fan_out_linear" : "grouped_linear", f, of_x, s, r, of_w, b);
    };
    y.push_back(compute(x.value(), w.value()));
    saved.push_back(!recompute ? SavedTensor() : SavedTensor([=, x = x.saved(), w = w.saved()] {
      return compute(x.get(), w.get());
    }));
    kept.push_back({segments, fans_out, x.requires_grad() ? w.saved() : SavedTensor(), w.requires_grad(),
                    w.shape(), w.dtype(), bias.requires_grad() ? b : Tensor()});
    inputs.insert(inputs.end(), {w, bias});
    weights_learn = weights_learn || w.requires_grad() || bias.requires_grad();
  }
  const SavedTensor kept_x = weights_learn ? x.saved() : SavedTensor();
  const auto rule = [kept = std::move(kept), kept_x, rows = x.dim(0),
                     in = x.dim(1)](const std::vector<Tensor>& dy) {
    std::vector<Tensor> out(1);
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const Kept& of = kept[i];
      std::pair<Tensor, Tensor> of_weights;
      if (dy[i].defined() && of.w.defined())
        out[0] = product(dy[i], swapped(of.segments), rows, as_blocks(of.w.get().to(dy[i].dtype())),
                         !of.fans_out, {}, out[0]);
      if (kept_x.defined()) of_weights = weight_gradients(of, kept_x.get(), dy[i]);
      out.insert(out.end(), {of_weights.first, of_weights.second});
    }
    return out;
  };
  if (products.size() > 1) return record_outputs("grouped_products", y, inputs, rule, saved);
  const char* op = products.front().fans_out ? "fan_out_linear" : "grouped_linear";
  return {record(
      op, y.front(), inputs, [rule](const Tensor& dy) { return rule({dy}); }, saved.front())};
}

}  // namespace

Tensor grouped_linear(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                      const Tensor& w, const Tensor& bias) {
  return forward("grouped_linear", false, x, segments, rows, w, bias);
}
Variable grouped_linear(const Variable& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                        const Variable& w, const Variable& bias) {
  return products_of(x, {{segments, rows, w, bias}}).front();
}

Tensor fan_out_linear(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                      const Tensor& w, const Tensor& bias) {
  return forward("fan_out_linear", true, x, segments, rows, w, bias);
}
Variable fan_out_linear(const Variable& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                        const Variable& w, const Variable& bias) {
  return products_of(x, {{segments, rows, w, bias, true}}).front();
}

std::vector<Variable> grouped_products(const Variable& x, const std::vector<GroupedProduct>& products) {
  check(!products.empty(), "[grouped_products] there must be a product");
  return products_of(x, products);
}

std::vector<RowSegment> row_segments(const std::vector<std::int64_t>& offsets) {
  check(!offsets.empty() && offsets.front() == 0 && std::ranges::is_sorted(offsets),
        "[grouped_linear] offsets must not decrease from 0");
  std::vector<RowSegment> segments;
  for (std::size_t s = 1; s < offsets.size(); ++s)
    segments.push_back({offsets[s - 1], offsets[s - 1], offsets[s] - offsets[s - 1]});
  return segments;
}

}  // namespace rodeo
