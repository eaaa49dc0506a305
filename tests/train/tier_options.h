/// What tests of memory tiers begin with: mini-batches, places of features and graph, and a GPU.
#pragma once

#include "train/task/model_registry.h"
#include "train/task/options.h"

namespace rodeo::test {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr Device kGpu{Device::Type::kCuda, 0};

inline TrainOptions tier_options(FeaturesOn features = FeaturesOn::kAuto, GraphOn graph = GraphOn::kAuto) {
  TrainOptions out = published_options("sage");
  out.batch = 1024;
  out.features_on = features;
  out.graph_on = graph;
  return out;
}

}  // namespace rodeo::test
