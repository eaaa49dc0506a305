/// What the training commands share around their model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "datasets/dataset.h"
#include "ops/features.h"
#include "train/task/options.h"

namespace rodeo {

/// A dataset ready for node classification, and what it took to get there.
struct NodeTask {
  std::string name;
  std::int64_t num_nodes = 0, num_edges = 0, num_features = 0, num_classes = 0;
  Features x;             // f32 or bf16 [nodes, features], on the device
  std::string features;   // which form they have: "dense, 2708 x 1433"
  Tensor label;           // i64 [nodes], on the device
  Split split;            // on the device
  Tensor order;           // i64 [nodes], on the host: node i is the file's order[i]; or undefined: i
  std::string reorder;    // what came of it: "rabbit, edges within 1,024 places 1.2 % -> 61.0 %"
  double reorder_ms = 0;  // in host memory, between load and convert
  double load_ms = 0;     // file to host memory
  double convert_ms = 0;  // host memory to what the model reads
  std::int64_t convert_peak_bytes = 0;  // of tensors on the device, meanwhile
};

/// Reads options.dataset onto the device, its nodes in the order of options.reorder; no copy stays on the
/// host. `prepare` makes of the graph what the model reads, and may drop it. Throws Error as load_dataset
/// does for what cannot be trained on.
NodeTask load_task(const TrainOptions& options, Device device, const std::function<void(Graph)>& prepare);

/// The same for a dataset that is in memory; what of it is no longer needed is dropped on the way.
NodeTask make_task(Dataset dataset, const TrainOptions& options, Device device,
                   const std::function<void(Graph)>& prepare);

/// Rows of the task's nodes in the order of the file's, on the host:  [nodes] or [nodes, n], any dtype.
Tensor in_file_order(const NodeTask& task, const Tensor& rows);

/// What the commands end with; docs/daily_use.md has the table.
enum ExitCode { kDone = 0, kFailed = 2, kNotFinite = 3, kOutOfMemory = 4 };
/// A line for each device that can be used, and why there is no CUDA device.
std::string list_devices();
/// The list of exit codes, for --help.
std::string exit_code_help();

/// Thrown at the end of work that a signal shortened: the command ends with 128 + signal.
struct Interrupted {
  int signal;
};

/// What the exception that is being handled is to the user. To be called in a catch block.
struct Failure {
  int exit_code;
  std::string message;  // one line
};
Failure current_failure();

/// Runs a command's body and returns its exit code; what went wrong is `program: what` in one line on stderr.
/// A stdout that cannot be written to counts as wrong.
int run_command(std::string_view program, const std::function<void()>& body);

}  // namespace rodeo
