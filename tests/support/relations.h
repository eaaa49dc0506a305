/// Small datasets of relations whose edges can be learnt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/hetero_dataset.h"
#include "ops/dense.h"
#include "train/task/model_registry.h"

namespace rodeo::test {

/// 40 users, who have trainable rows, buy most of the 60 items of their group. Items have noise as features.
inline HeteroDataset shop() {
  HeteroDataset out;
  out.name = "shop";
  for (const auto& [name, count] : {std::pair{"user", 40}, std::pair{"item", 60}}) {
    Dataset& type = out.types.emplace_back();
    type.name = name, type.num_nodes = count;
  }
  out.types[1].num_features = 4;
  out.types[1].x = uniform({60, 4}, -1, 1, RandomKey{1, 1});
  std::vector<std::int64_t> src, dst, from, to;
  for (std::int64_t u = 0; u < 40; ++u)
    for (std::int64_t i = u % 4; i < 60; i += 4)
      if ((u * 7 + i) % 5 != 0) src.push_back(u), dst.push_back(i);
  for (std::int64_t i = 0; i < 60; ++i) from.push_back(i), to.push_back((i + 4) % 60);
  out.relations = {{"buys", 0, 1, Tensor::from(src), Tensor::from(dst)},
                   {"near", 1, 1, Tensor::from(from), Tensor::from(to)}};
  return out;
}

/// Entities of 4 groups of 15. likes: within a group; follows: to the next group; knows: both directions.
inline HeteroDataset knowledge() {
  HeteroDataset out;
  out.name = "kg";
  Dataset& entity = out.types.emplace_back();
  entity.name = "entity", entity.num_nodes = 60;
  std::vector<std::int64_t> likes[2], follows[2], knows[2];
  for (std::int64_t i = 0; i < 60; ++i)
    for (std::int64_t j = 0; j < 60; ++j) {
      if (i == j || (i + 2 * j) % 3 == 1) continue;  // of both directions one is left
      if (j % 4 == i % 4) likes[0].push_back(i), likes[1].push_back(j);
      if (j % 4 == (i + 1) % 4) follows[0].push_back(i), follows[1].push_back(j);
      if (j % 4 == i % 4 && i < j)
        for (const bool turned : {false, true})
          knows[0].push_back(turned ? j : i), knows[1].push_back(turned ? i : j);
    }
  out.relations = {
      {"likes", 0, 0, Tensor::from(likes[0]), Tensor::from(likes[1])},
      {"follows", 0, 0, Tensor::from(follows[0]), Tensor::from(follows[1])},
      {"knows", 0, 0, Tensor::from(knows[0]), Tensor::from(knows[1])},
      {"rare", 0, 0, Tensor::from(std::vector<std::int64_t>{3}), Tensor::from(std::vector<std::int64_t>{5})}};
  return out;
}

/// Link prediction of one relation, or of all of them by DistMult.
inline TrainOptions link_options(std::string_view model, int epochs, std::string relation = {}) {
  TrainOptions options = published_options(model, TaskKind::kLink);
  options.epochs = epochs;
  options.undirected = true;
  options.hidden = find_model(model).conv->traits.heads ? 4 : 16;
  options.embedding = 16;
  options.relation = std::move(relation);
  if (options.relation.empty()) options.decoder = DecoderKind::kDistmult;
  return options;
}

}  // namespace rodeo::test
