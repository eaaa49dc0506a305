/// Chooses a kernel for one problem of a graph: as kept in the cache, or by timing the candidates.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/l2_flush.h"
#include "core/stopwatch.h"
#include "ops/graph_hash.h"
#include "ops/sparse/tuning_cache.h"

namespace rodeo {

/// The choices that were made on a graph, which it keeps.
template <class Problem, class Algorithm>
struct KernelChoices {
  using Map = std::map<Problem, KernelChoice<Algorithm>>;
  std::shared_ptr<Map> of = std::make_shared<Map>();
};

/// Hold adj.lock_cache() while using it.
template <class Problem, class Algorithm>
auto& choices_on(const Adjacency& adj) {
  using Choices = KernelChoices<Problem, Algorithm>;
  return *adj.cached<Choices>([] { return Choices(); }).of;
}

/// The choice for adj, which is on CUDA.
///   candidates  the usual choice first; one with a remark is not run
///   load        runs every candidate on a tiny problem, so that loading kernels is not timed
///   run         computes the problem once
template <class Problem, class Algorithm>
KernelChoice<Algorithm> tune(const Adjacency& adj, const Problem& problem,
                             std::vector<KernelCandidate<Algorithm>> candidates,
                             const std::function<void()>& load,
                             const std::type_identity_t<std::function<void(Algorithm)>>& run,
                             TuningCache<Problem, Algorithm>& cache) {
  using Source = typename KernelChoice<Algorithm>::Source;
  using Clock = std::chrono::steady_clock;
  const auto is_candidate = [&, known = candidates](Algorithm algorithm) {
    return std::ranges::any_of(known,
                               [&](const auto& c) { return c.algorithm == algorithm && c.remark.empty(); });
  };
  const typename TuningCache<Problem, Algorithm>::Key key{graph_hash(adj), describe(adj.device()), problem};
  if (const auto entry = cache.find(key); entry && is_candidate(entry->algorithm))
    return {entry->algorithm, Source::kRemembered, "as tuned before", entry->candidates};

  load();
  const L2Flush flush(adj.device());
  synchronize(adj.device());  // earlier work on the stream is not part of the budget
  const Clock::time_point begin = Clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  const auto time = [&](Algorithm algorithm, int runs) {
    double ms = 0;
    for (int i = 0; i < runs; ++i) {
      flush();  // also hides the time to launch
      Stopwatch stopwatch(adj.device());
      run(algorithm);
      ms += stopwatch.milliseconds();
    }
    return ms;
  };
  KernelChoice<Algorithm> choice = choose_by_time(std::move(candidates), time, elapsed);
  const auto kept = cache.keep(key, {choice.algorithm, choice.candidates});
  if (kept.algorithm != choice.algorithm && is_candidate(kept.algorithm))
    choice = {kept.algorithm, Source::kRemembered, "as another process tuned meanwhile", kept.candidates};
  if (const std::string complaint = cache.complaint(); !complaint.empty())
    choice.reason += "; not kept for later runs: " + complaint;
  choice.tuning_ms = elapsed();
  return choice;
}

}  // namespace rodeo
