/// What a run writes for programs: JSON lines and CSV.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/task/options.h"
#include "train/task/run.h"
#include "train/trainer.h"

namespace rodeo {

/// What a run is, beside its options.
struct RunFacts {
  std::string device;  // "cuda:0 (NVIDIA H200)"
  std::string model;   // "GCN, 2 layers, ..."
  std::string algorithms;
  std::int64_t parameters = 0;
  std::int64_t data_bytes = 0;  // on the device before training
  int resumed_from = 0;         // an epoch; 0: from the beginning
};

/// Versions that matter, by name: rodeo, commit, compiler, backends.
std::vector<std::pair<std::string, std::string>> versions();

/// A file of lines, each of which is there whole before the next is begun. Failures are Errors naming it.
class LineFile {
 public:
  /// Appends to what is there, or begins anew.
  LineFile(const std::string& path, bool append);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  void line(const std::string& text);

 private:
  std::string path_;
  int file_ = -1;
};

/// JSON objects without line breaks; "event" is start, epoch, end or error. What is not
/// known is null.
std::string start_line(const TrainOptions& options, const NodeTask& task, const RunFacts& facts);
std::string epoch_line(const EpochReport& report);
std::string end_line(const TrainSummary& summary);
std::string error_line(std::string_view message, int exit_code);

/// The line of column names, and of an epoch: what is not known is empty.
std::string csv_header();
std::string csv_line(const EpochReport& report);

}  // namespace rodeo
