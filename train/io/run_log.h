/// Machine-readable logs of a run: JSON lines and CSV.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file_descriptor.h"
#include "train/task/node_task.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// Facts about a run, beside its options.
struct RunFacts {
  std::string device;  // "cuda:0 (NVIDIA H200)"
  std::string model;   // "GCN, 2 layers, ..."
  std::string algorithms;
  std::int64_t parameters = 0;
  std::int64_t data_bytes = 0;  // on the device before training
  int resumed_from = 0;         // epoch of the checkpoint; 0: not resumed, or within the first epoch
  int resumed_batch = 0;        // of the epoch after it; 0: between epochs
};

/// Versions by name: rodeo, commit, compiler, backends.
std::vector<std::pair<std::string, std::string>> versions();

/// A text file to which each call writes one whole line. Errors name the file.
class LineFile {
 public:
  /// Appends to an existing file.
  explicit LineFile(const std::string& path);
  void line(const std::string& text);
  /// Drops what the file had. A pipe or terminal stays as it is.
  void clear();

 private:
  std::string path_;
  FileDescriptor file_;
};

/// JSON objects in one line; "event" is start, epoch, end or error. Unknown values are null.
std::string start_line(const TrainOptions& options, const NodeTask& task, const RunFacts& facts);
std::string epoch_line(const EpochReport& report);
/// `per_class`: JSON, or empty. `details`: more test results of the best epoch, by name.
std::string end_line(const TrainOptions& options, const NodeTask& task, const TrainSummary& summary,
                     const std::string& per_class = "",
                     const std::vector<std::pair<std::string, double>>& details = {});
std::string error_line(std::string_view message, int exit_code);

/// The CSV header and the line of an epoch. Unknown values are empty.
std::string csv_header();
std::string csv_line(const EpochReport& report);

}  // namespace rodeo
