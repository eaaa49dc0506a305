#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {

void spmm_minmax(const Adjacency& adj, double sign, const Tensor& weight, const Tensor& x, const Tensor& y,
                 const Tensor& arg) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    using Value = Accumulator<T>;
    const auto* row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    const auto* col = adj.csr().col.data<std::int32_t>();
    const T *xp = x.data<T>(), *w = weight.defined() ? weight.data<T>() : nullptr;
    T* yp = y.data<T>();
    auto* argp = arg.defined() ? arg.data<std::int32_t>() : nullptr;
    const std::int64_t k = x.numel() / adj.cols(), heads = heads_of(weight), per_head = k / heads;
    const auto direction = static_cast<Value>(sign);
#pragma omp parallel if (adj.num_edges() * k > kSerial)
    {
      std::vector<Value> best(static_cast<std::size_t>(k));
      std::vector<std::int32_t> at(best.size());
#pragma omp for schedule(dynamic, 64)
      for (std::int64_t row = 0; row < adj.rows(); ++row) {
        std::fill(best.begin(), best.end(), Value(0));
        std::fill(at.begin(), at.end(), -1);
        for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e)
          for (std::int64_t j = 0; j < k; ++j) {
            const Value factor = w ? direction * load(w[e * heads + j / per_head]) : direction;
            const Value value = factor * load(xp[col[e] * k + j]);
            if (at[j] < 0 || value > best[j] || (std::isnan(value) && !std::isnan(best[j]))) {
              best[j] = value;
              at[j] = static_cast<std::int32_t>(e - row_ptr[row]);
            }
          }
        for (std::int64_t j = 0; j < k; ++j) {
          yp[row * k + j] = T(at[j] < 0 ? Value(0) : direction * best[j]);
          if (argp) argp[row * k + j] = at[j];
        }
      }
    }
  });
}

void spmm_minmax_dx(const Adjacency& adj, const Transposed& transposed, const Tensor& weight,
                    const Tensor& arg, const Tensor& dy, const Tensor& dx) {
  dispatch_float(dy.dtype(), "spmm", [&]<class T>(T) {
    const auto* row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    const auto* col_ptr = transposed.adj.csr().row_ptr.data<std::int64_t>();
    const auto* row_of = transposed.adj.csr().col.data<std::int32_t>();
    const auto* edge_ids = transposed.edge_ids.data<std::int64_t>();
    const auto* argp = arg.data<std::int32_t>();
    const T *dyp = dy.data<T>(), *w = weight.defined() ? weight.data<T>() : nullptr;
    T* out = dx.data<T>();
    const std::int64_t k = dx.numel() / adj.cols(), heads = heads_of(weight), per_head = k / heads;
#pragma omp parallel if (adj.num_edges() * k > kSerial)
    {
      std::vector<Accumulator<T>> sum(static_cast<std::size_t>(k));
#pragma omp for schedule(dynamic, 64)
      for (std::int64_t c = 0; c < adj.cols(); ++c) {
        std::fill(sum.begin(), sum.end(), Accumulator<T>(0));
        for (std::int64_t t = col_ptr[c]; t < col_ptr[c + 1]; ++t) {
          const std::int64_t row = row_of[t], e = edge_ids[t], at = e - row_ptr[row];
          for (std::int64_t j = 0; j < k; ++j)
            if (argp[row * k + j] == at)
              sum[j] += (w ? load(w[e * heads + j / per_head]) : 1) * load(dyp[row * k + j]);
        }
        for (std::int64_t j = 0; j < k; ++j) out[c * k + j] = T(sum[j]);
      }
    }
  });
}

void spmm_minmax_dweight(const Adjacency& adj, const Tensor& rows, const Tensor& arg, const Tensor& x,
                         const Tensor& dy, const Tensor& dweight) {
  dispatch_float(dy.dtype(), "spmm", [&]<class T>(T) {
    const auto* row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    const auto* col = adj.csr().col.data<std::int32_t>();
    const auto *row_of = rows.data<std::int32_t>(), *argp = arg.data<std::int32_t>();
    const T *xp = x.data<T>(), *dyp = dy.data<T>();
    T* out = dweight.data<T>();
    const std::int64_t heads = heads_of(dweight), k = x.numel() / adj.cols(), per_head = k / heads;
    for_each_row(adj.num_edges(), k, [=](std::int64_t e) {
      const std::int64_t row = row_of[e], at = e - row_ptr[row];
      for (std::int64_t h = 0; h < heads; ++h) {
        Accumulator<T> sum = 0;
        for (std::int64_t j = h * per_head; j < (h + 1) * per_head; ++j)
          if (argp[row * k + j] == at) sum += load(dyp[row * k + j]) * load(xp[col[e] * k + j]);
        out[e * heads + h] = T(sum);
      }
    });
  });
}

void inverse_row_length(const Csr& a, const Tensor& out) {
  dispatch_float(out.dtype(), "spmm", [&]<class T>(T) {
    const auto* row_ptr = a.row_ptr.data<std::int64_t>();
    T* p = out.data<T>();
    for_each_element(a.rows, [=](std::int64_t i) {
      const std::int64_t length = row_ptr[i + 1] - row_ptr[i];
      p[i] = T(length > 0 ? 1 / static_cast<Accumulator<T>>(length) : Accumulator<T>(0));
    });
  });
}

}  // namespace rodeo::kernels::cpu
