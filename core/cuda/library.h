/// CUDA libraries that are loaded with dlopen() on first use, so that programs on the CPU do not need them.
/// library_functions.cpp defines the functions that Rodeo calls.
#pragma once

#include <mutex>
#include <string>

namespace rodeo::cuda {

class Library {
 public:
  /// `title` is for error texts ("cuSPARSE"), `file` for dlopen() ("libcusparse.so.12").
  Library(std::string title, std::string file);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& file() const { return file_; }
  /// Loads the library. Returns why that failed and what to do; empty on success.
  const std::string& trouble();
  /// Loads the library and finds a function in it. Throws Error.
  void* function(const char* name);

 private:
  std::string title_, file_, trouble_;
  std::once_flag once_;
  void* handle_ = nullptr;
};

Library& cublaslt_library();
Library& cusparse_library();
Library& cudnn_library();

}  // namespace rodeo::cuda
