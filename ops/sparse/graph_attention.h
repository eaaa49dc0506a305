/// Attention on the rows of one rank: the implementation of ops/attention.h, which has the contracts, and
/// what forms of exchange need of it. graph_self_attention checks its operands; the others trust them.
#pragma once

#include <string_view>

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/attention_types.h"
#include "ops/kernels/attention.h"

namespace rodeo {

Variable graph_attention(const Adjacency& adj, const Variable& s, const Variable& t, const Variable& x,
                         const AttentionOptions& options);
Variable graph_self_attention(const Adjacency& adj, const Variable& x, const Variable& a_dst,
                              const Variable& a_src, const AttentionOptions& options);
/// The composed form, from scores: the weights with their dropout, and the sum.
Variable attention_weights(const Adjacency& adj, const Variable& score, const AttentionOptions& options);
Variable attention_sum(const Adjacency& adj, const Variable& score, const Variable& x,
                       const AttentionOptions& options);

/// The result of the fused form, and what its gradients read.
struct FusedAttention {
  Tensor y;
  kernels::AttentionSaved saved = {};
};
/// Saves nothing unless `recorded`.
FusedAttention fused_attention(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                               const AttentionOptions& options, bool recorded);
/// The gradients of the fused form: of s, t and x, or of x and `vectors` where they are defined. `saved` is
/// freed before x is read and dx is allocated, where nobody else has it.
kernels::AttentionGradients fused_attention_gradients(const Adjacency& adj, const Tensor& s, const Tensor& t,
                                                      const SavedTensor& x, const AttentionOptions& options,
                                                      FusedAttention saved, const Tensor& dy,
                                                      kernels::AttentionVectors& vectors);

/// Throw Error unless operands are as ops/attention.h says. adj may be sharded.
void check_attention_operands(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                              const AttentionOptions& options);
void check_attention_rows(std::string_view op, const Adjacency& adj, const Tensor& x, std::int64_t heads);
void check_attention_dropout(std::string_view op, const AttentionOptions& options);

}  // namespace rodeo
