#include "core/cuda/library.h"

#include <dlfcn.h>

#include <filesystem>
#include <utility>

#include "core/error.h"

namespace rodeo::cuda {

Library::Library(std::string title, std::string file) : title_(std::move(title)), file_(std::move(file)) {}

// Tries the loader's search path, then the toolkit of this build. Only a missing file falls through: a
// damaged one is reported.
const std::string& Library::trouble() {
  std::call_once(once_, [&] {
    handle_ = dlopen(file_.c_str(), RTLD_NOW);
    if (handle_) return;
    const std::string why = dlerror();
    const std::string toolkit_file = std::string(RODEO_CUDA_LIBRARIES) + "/" + file_;
    if (why.find("No such file") != std::string::npos && std::filesystem::exists(toolkit_file)) {
      handle_ = dlopen(toolkit_file.c_str(), RTLD_NOW);
      trouble_ = handle_ ? std::string() : dlerror();
    } else {
      trouble_ = why;
    }
    if (!handle_)
      trouble_ = str(title_, " cannot be loaded (", trouble_,
                     "): install it, for a wheel by pip install 'rodeo-gnn[cuda]', or name its folder in "
                     "LD_LIBRARY_PATH");
  });
  return trouble_;
}

void* Library::function(const char* name) {
  check(trouble().empty(), "[cuda] ", trouble());
  void* const address = dlsym(handle_, name);
  check(address != nullptr, "[cuda] ", title_, " (", file_, ") has no ", name,
        ": it is of another version than this build; install the one of its CUDA toolkit");
  return address;
}

}  // namespace rodeo::cuda
