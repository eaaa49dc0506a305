/// Runs over ranks, and what is the same on all of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/ranks/ranks.h"
#include "tests/support/near.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo::test {

struct Trained {
  std::vector<double> losses;
  TrainSummary summary;
  StateDict weights;
  TrainerState state;
  std::vector<std::pair<std::string, double>> details;
};

struct Start {
  const Trained* from = nullptr;  // goes on from there
  bool stops = false;             // by TrainerOptions::stop of the last rank, as soon as it is asked
};

inline Trained train(const NodeRun& run, const TrainOptions& options, const Communicator& over,
                     const Start& start = {}) {
  TrainerOptions training = trainer_options(options);
  if (start.stops) training.stop = [&] { return over.rank() == over.size() - 1; };
  Trainer trainer = make_trainer(run, training);
  if (start.from) {
    run.model.module->load_state_dict(start.from->weights);
    trainer.restore(start.from->state);
  }
  Trained out;
  out.summary = trainer.fit([&](const EpochReport& report) { out.losses.push_back(report.loss); });
  out.weights = run.model.module->state_dict();
  out.state = trainer.state();
  out.details = run.model.parts.metrics->details();
  return out;
}

inline Trained train(const Dataset& data, const TrainOptions& options, const Communicator& over,
                     const Start& start = {}) {
  return train(make_run(data, options, device(), over), options, over, start);
}

/// Gradients of the parameters, summed over ranks.
inline std::vector<Tensor> summed_gradients(const Module& module, const Communicator& over) {
  std::vector<Tensor> out;
  for (const Variable& parameter : module.parameters()) {
    const Tensor sum = parameter.grad().clone();
    over.all_reduce(sum);
    out.push_back(sum.to(kCpu));
  }
  return out;
}

/// All ranks have the same weights and running statistics, to the bit.
inline void expect_same_on_all_ranks(const StateDict& weights) {
  for (const auto& [name, own] : weights) {
    const Tensor first = own.to(device()).clone();
    ranks().broadcast(first);
    EXPECT_TRUE(same_bits(first.to(kCpu), own.to(kCpu))) << name;
  }
}

inline void expect_same_bits(const StateDict& a, const StateDict& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i].second, b[i].second)) << a[i].first;
}

/// data: of rank 1 another one than of the others.
inline void expect_other_data_is_an_error(const Dataset& data, const TrainOptions& options) {
  try {
    make_run(data, options, device(), ranks());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1 has another dataset than rank 0: give all ranks the same file");
  }
}

}  // namespace rodeo::test
