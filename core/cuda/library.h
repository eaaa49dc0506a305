/// CUDA's large libraries, opened when they are first used: what runs on the CPU needs none of them, and a
/// missing one is an error that can be read. library_functions.cpp defines the functions that we call.
#pragma once

#include <mutex>
#include <string>

namespace rodeo::cuda {

class Library {
 public:
  /// `title` is for people, `file` what the loader knows it by: "libcusparse.so.12".
  Library(std::string title, std::string file);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& file() const { return file_; }
  /// Opens it. Why that failed, and what to do, as one phrase; empty when it is open.
  const std::string& trouble();
  /// Opens it and finds a function. Throws Error.
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
