#include "train/task/run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <utility>

#include "core/storage.h"
#include "datasets/subset.h"
#include "train/commands/terminal.h"
#include "train/nan_watch.h"
#include "train/task/feature_form.h"
#include "train/timing.h"

namespace rodeo {
namespace {

void reorder(Dataset& dataset, const TrainOptions& options, NodeTask& task) {
  constexpr std::int64_t kWindow = 1024;
  const double before = near_edges(dataset, kWindow);
  task.reorder_ms = timed(kCpu, [&] {
    task.order = node_order(dataset, options.reorder, options.undirected);
    dataset = select_nodes(dataset, task.order);
  });
  task.reorder = fmt::format("{}, edges within 1,024 places {:.1f} % -> {:.1f} %", name(options.reorder),
                             100 * before, 100 * near_edges(dataset, kWindow));
}

}  // namespace

NodeTask load_task(const TrainOptions& options, Device device, const std::function<void(Graph)>& prepare) {
  Dataset dataset;
  // The order of nodes is found and applied on the host.
  const LoadOptions wanted{.need = Need::kTraining,
                           .split = options.split,
                           .seed = options.seed,
                           .device = options.reorder == NodeOrder::kNone ? device : kCpu};
  const double load_ms = timed(kCpu, [&] { dataset = load_dataset(options.dataset, wanted); });
  NodeTask task = make_task(std::move(dataset), options, device, prepare);
  task.load_ms = load_ms;
  return task;
}

NodeTask make_task(Dataset dataset, const TrainOptions& options, Device device,
                   const std::function<void(Graph)>& prepare) {
  NodeTask task;
  if (options.reorder != NodeOrder::kNone) reorder(dataset, options, task);
  reset_peak_memory(device);
  task.convert_ms = timed(device, [&] {
    Graph graph = to_graph(dataset, device, {.symmetrize = options.undirected});
    task.num_edges = graph.adj.num_edges();
    dataset.src = dataset.dst = dataset.indptr = dataset.indices = dataset.edge_weight = {};
    prepare(std::move(graph));
    ChosenFeatures chosen = choose_features(dataset, options, device);
    task.x = std::move(chosen.x);
    task.features = std::move(chosen.text);
    task.label = dataset.y.to(device);
    task.split = {dataset.split.train.to(device), dataset.split.val.to(device),
                  dataset.split.test.to(device)};
  });
  task.convert_peak_bytes = memory_stats(device).peak;
  task.name = dataset.name;
  task.num_nodes = dataset.num_nodes;
  task.num_features = dataset.num_features;
  task.num_classes = dataset.num_classes;
  return task;
}

Tensor in_file_order(const NodeTask& task, const Tensor& rows) {
  return task.order.defined() ? take(rows.to(kCpu), inverse_order(task.order)) : rows.to(kCpu);
}

std::string list_devices() {
  std::string lines;
  const auto add = [&](Device device) {
    const MemoryRoom room = memory_room(device);
    lines += fmt::format("{:<8}{}, {} of {} free\n", str(device), describe(device),
                         format_bytes(static_cast<double>(room.free)),
                         format_bytes(static_cast<double>(room.total)));
  };
  add(kCpu);
  for (int i = 0; i < cuda_device_count(); ++i) try {
      add(parse_device(str(cuda_device(i))));
    } catch (const Error& error) {  // no code of this build runs there
      lines += fmt::format("{}\n", error.what());
    }
  if (cuda_device_count() == 0) lines += fmt::format("no CUDA device: {}\n", cuda_absence_reason());
  return lines;
}

std::string exit_code_help() {
  return "Exit codes: 0 done, 2 wrong options or data, a device that cannot be used, a file that cannot be\n"
         "written, 3 a loss or result that is not finite, 4 out of memory, 130 and 143 stopped by Ctrl-C or\n"
         "SIGTERM (the first one ends the epoch, the second the process).\n";
}

Failure current_failure() {
  try {
    throw;
  } catch (const NotFinite& error) {
    return {kNotFinite, error.what()};
  } catch (const OutOfMemory& error) {
    return {kOutOfMemory, error.what()};
  } catch (const std::bad_alloc&) {
    return {kOutOfMemory, "out of host memory"};
  } catch (const std::exception& error) {
    return {kFailed, error.what()};
  }
}

int run_command(std::string_view program, const std::function<void()>& body) {
  try {
    body();
    check(std::fflush(stdout) == 0 && !std::ferror(stdout), "cannot write to the standard output");
    return kDone;
  } catch (const Interrupted& interrupted) {
    return 128 + interrupted.signal;
  } catch (...) {
    const Failure failure = current_failure();
    fmt::print(stderr, "{}: {}\n", paint(has_colours(STDERR_FILENO), Colour::kRed, program), failure.message);
    return failure.exit_code;
  }
}

}  // namespace rodeo
