/// libFuzzer entry point of the loader: for any bytes, load_dataset() and validate_dataset() return or throw
/// rodeo::Error. Build with `clang++ -fsanitize=fuzzer,address load_dataset_fuzz.cpp ...`, or with driver.cpp
/// and any compiler.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "datasets/dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  using rodeo::Need;
  for (const rodeo::LoadOptions& options :
       {rodeo::LoadOptions{.all_splits = true}, rodeo::LoadOptions{.need = Need::kTraining},
        rodeo::LoadOptions{.need = Need::kTraining, .split = "60/20/20"}}) {
    try {
      const rodeo::Dataset dataset = rodeo::load_dataset(path, options);
      // An accepted dataset must be usable. Large ones are skipped to save time.
      if (dataset.num_nodes < 100000) rodeo::to_graph(dataset, rodeo::kCpu);
      if (dataset.num_nodes * dataset.num_features < 1000000) rodeo::dense_features(dataset);
    } catch (const rodeo::Error& error) {
      const std::string text = error.what();
      if (text.find('\n') != std::string::npos || text.find(path) != 0) {
        // Only errors of the --split parser do not start with the path.
        if (text.rfind("split", 0) != 0) std::abort();
      }
    }
  }
  try {
    for (const std::string& finding : rodeo::validate_dataset(path))
      if (finding.find('\n') != std::string::npos || finding.find(path) != 0) std::abort();
  } catch (const rodeo::Error&) {  // not an HDF5 file
  }
  ::close(file);
  return 0;
}
