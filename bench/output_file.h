/// A file of results.
#pragma once

#include <fstream>
#include <functional>
#include <string>

#include "core/error.h"

namespace rodeo::bench {

/// Opened before the first run, so that a path that cannot be written fails at once. An empty path: nothing
/// is written.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_.open(path);
    check(file_.is_open(), path, ": cannot be written");
  }
  void write(const std::function<void(std::ostream&)>& format) {
    if (path_.empty()) return;
    format(file_);
    file_.flush();
    check(file_.good(), path_, ": writing failed");
  }

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace rodeo::bench
