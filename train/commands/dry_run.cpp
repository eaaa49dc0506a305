#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/device.h"
#include "core/text.h"
#include "train/commands/console_run.h"
#include "train/commands/device_text.h"
#include "train/task/memory_estimate.h"

namespace rodeo {
namespace {

/// Prints the estimated memory of an epoch on each rank, and what would reduce it where it does not fit.
void estimate_memory(const Console& console, const NodeRun& run, const TrainOptions& options, Device device,
                     const Communicator& ranks) {
  if (options.task == TaskKind::kGraph)
    return console.say("memory", format_bytes(static_cast<double>(memory_stats(device).current)) +
                                     " data; mini-batches are not estimated");
  if (has_relations(options))
    return console.say("memory", format_bytes(static_cast<double>(memory_stats(device).current)) +
                                     " data and parameters; steps over relations are not estimated");
  const MemoryRoom room = memory_room(device);
  const std::int64_t data = memory_stats(device).current;
  const std::int64_t step = estimate_step_bytes(run, options).value_or(-1);  // negative: not known
  const Tensor own = Tensor::from(std::vector{data, step, room.free, room.total});
  const std::vector<double> all = ranks.all_gather(own).to(DType::kF64).to_vector<double>();
  // The estimate is of a step over the whole graph, which is more than an evaluation and a mini-batch hold.
  bool fits = true, known = true;
  for (std::size_t r = 0; 4 * r < all.size(); ++r) {
    const double of_data = all[4 * r], of_step = all[4 * r + 1], of_free = all[4 * r + 2];
    const std::string of_epoch =
        of_step < 0
            ? ", and an epoch is not known: two small graphs that estimate it do not fit into cpu"
            : fmt::format(" + {}{} an epoch (estimated) = {}", run.model.mini_batches ? "at most " : "",
                          format_bytes(of_step), format_bytes(of_data + of_step));
    console.say(
        "memory",
        fmt::format("{}{} data{}; {} of {} are free", ranks.size() > 1 ? fmt::format("rank {}: ", r) : "",
                    format_bytes(of_data), of_epoch, format_bytes(of_free), format_bytes(all[4 * r + 3])));
    fits = fits && of_step < of_free;
    known = known && of_step >= 0;
  }
  if (run.model.mini_batches || (fits && (known || device.is_cuda()))) return;
  console.say(
      "", str("this ", fits ? "may" : "will", " not fit: try ", memory_advice(options, device.is_cuda())));
}

}  // namespace

void dry_run(const TrainOptions& options, Device device, const Communicator& ranks) {
  check_device(options, device);
  check_checkpoint(options);
  const Console console(/*quiet=*/false);
  console.say("device", describe_device(options.device, device));
  console.say("plan", rodeo::describe(plan_source({.file = options.dataset}, options, device, ranks)));
  const NodeRun run = load_run(options, device, ranks);
  describe(console, run, options, device);
  const auto parameters = run.model.module->named_parameters();
  std::size_t width = 0;
  for (const auto& [name, parameter] : parameters) width = std::max(width, name.size());
  for (const auto& [name, parameter] : parameters)
    console.say(fmt::format("  {:<{}}", name, width), str(parameter.dtype(), " ", parameter.shape()));
  console.say("training",
              fmt::format("{}, learning rate {}, weight decay {}, seed {}", count_of(options.epochs, "epoch"),
                          options.lr, options.weight_decay, options.seed));
  estimate_memory(console, run, options, device, ranks);
  make_trainer(run, trainer_options(options));  // refuses what training refuses
}

}  // namespace rodeo
