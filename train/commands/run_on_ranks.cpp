#include "train/commands/run_on_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/storage.h"
#include "train/commands/run_command.h"
#include "train/io/settings.h"
#include "train/nan_watch.h"

namespace rodeo {
namespace {

/// A rank may read a large file while the others wait.
constexpr CommunicatorOptions kOptions{.timeout_seconds = 300};

/// Several ranks may notice one fault: the lowest one prints it, and ends the others before they do.
void wait_for_lower_ranks(int rank) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200) * std::min(rank, 50));
}

}  // namespace

void check_same_options(const TrainOptions& options, const Communicator& ranks) {
  TrainOptions compared = options;
  compared.device = "auto";
  const std::string text = to_json(settings_of(compared));
  const Tensor hash = Tensor::from(std::vector{static_cast<std::int64_t>(std::hash<std::string>{}(text))});
  const std::vector<std::int64_t> all = ranks.all_gather(hash).to_vector<std::int64_t>();
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    check(all[rank] == all[0], "rank ", rank,
          " has other options than rank 0: start all ranks with the same");
}

int run_command_on_ranks(std::string_view program, const std::function<void(const Communicator&)>& body) {
  std::optional<Communicator> ranks;
  bool failed = false;
  const int code = run_command(program, [&] {
    ranks.emplace(kOptions);
    if (ranks->rank() > 0) check(std::freopen("/dev/null", "w", stdout) != nullptr, "cannot open /dev/null");
    try {
      body(*ranks);
    } catch (const Interrupted&) {
      throw;
    } catch (...) {
      failed = true;
      if (ranks->size() == 1) throw;
      const Failure failure = current_failure();
      wait_for_lower_ranks(ranks->rank());
      const std::string text = str("rank ", ranks->rank(), " of ", ranks->size(), ": ", failure.message);
      if (failure.exit_code == kNotFinite) throw NotFinite(text);
      if (failure.exit_code == kOutOfMemory) throw OutOfMemory(text);
      throw Error(text);
    }
  });
  if (failed && ranks && ranks->size() > 1) {
    std::fflush(nullptr);
    ranks->abort();
  }
  return code;
}

}  // namespace rodeo
