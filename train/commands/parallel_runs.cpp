#include "train/commands/parallel_runs.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/threads.h"

namespace rodeo {
namespace {

class Workers {
 public:
  Workers(std::size_t count, const std::function<void(std::size_t, const RunHooks&)>& run)
      : count_(count), run_(run) {}

  void run_all(int parallel, int threads) {
    std::vector<std::thread> others;
    const auto number = std::min<std::size_t>(static_cast<std::size_t>(parallel), count_);
    for (std::size_t t = 0; t < number; ++t)
      others.emplace_back([this, t, threads] {
        set_num_threads(threads);
        if (t > 0) wait_for_first();
        work();
      });
    for (std::thread& other : others) other.join();
  }

  void work() {
    for (std::size_t i = next_++; i < count_ && !failed_; i = next_++) {
      try {
        run_(i, {[this] { return failed_.load(); },
                 [this, i](int epoch) {
                   if (i == 0 && epoch >= kEpochsAlone) begin_others();
                 }});
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
        failed_ = true;
      }
      if (i == 0) begin_others();
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static constexpr int kEpochsAlone =
      2;  // which choose the SpMM kernels of training and evaluation by timing

  void begin_others() {
    const std::lock_guard lock(mutex_);
    begun_ = true;
    condition_.notify_all();
  }

  void wait_for_first() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return begun_; });
  }

  std::size_t count_;
  const std::function<void(std::size_t, const RunHooks&)>& run_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable condition_;
  bool begun_ = false;
  std::exception_ptr error_;
};

}  // namespace

void run_in_parallel(std::size_t count, int parallel, int threads,
                     const std::function<void(std::size_t, const RunHooks&)>& run) {
  Workers workers(count, run);
  if (parallel > 1)
    workers.run_all(parallel, threads);
  else
    workers.work();
  workers.rethrow();
}

}  // namespace rodeo
