/// rodeo_h5_check FILE CPU_SECONDS MEMORY_MIB: the child process of check_hdf5_file(). Reads the structure of
/// a dataset file under limits. Before each step it writes what it reads to stdout. The exit code says
/// nothing about the contents of the file: only that HDF5 neither crashed nor passed a limit.
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "core/threads.h"
#include "datasets/hdf5/array_names.h"
#include "datasets/hdf5/check_limits.h"
#include "datasets/hdf5/hetero_names.h"
#include "datasets/hdf5_file.h"

#if defined(__has_feature)  // Clang
#define RODEO_HAS_FEATURE(feature) __has_feature(feature)
#else
#define RODEO_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || RODEO_HAS_FEATURE(address_sanitizer) || \
    RODEO_HAS_FEATURE(thread_sanitizer)
// Sanitizers reserve terabytes of address space, so that RLIMIT_AS cannot be used. They have limits of their
// own.
extern "C" const char* __asan_default_options() {
  return "hard_rss_limit_mb=1024:max_allocation_size_mb=1024:allocator_may_return_null=0:detect_leaks=0";
}
constexpr bool kLimitMemory = false;
#else
constexpr bool kLimitMemory = true;

// HDF5 goes on after a failed allocation. This process must not: its parent has no limit, and would allocate.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);

static void* allocated(void* block, std::size_t bytes) {
  if (!block && bytes > 0) _exit(rodeo::hdf5::kCheckOutOfMemory);
  return block;
}
void* malloc(std::size_t bytes) {
  return allocated(__libc_malloc(bytes), bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  return allocated(__libc_calloc(count, bytes), count == 0 ? 0 : bytes);
}
void* realloc(void* block, std::size_t bytes) {
  return allocated(__libc_realloc(block, bytes), bytes);
}
}
#endif

namespace {

using rodeo::DType;
using rodeo::Hdf5Array;
using rodeo::Hdf5File;

void set_limit(__rlimit_resource resource, std::int64_t value) {
  const rlimit limit{static_cast<rlim_t>(value),
                     static_cast<rlim_t>(value) + (resource == RLIMIT_CPU ? 1 : 0)};
  ::setrlimit(resource, &limit);
}

/// Bytes of address space that the process has: its libraries, and the stacks of threads that they start,
/// which are more on more processors.
std::int64_t address_space() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

void set_limits(std::int64_t cpu_seconds, std::int64_t memory_mib) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // never outlives its parent
  for (const int from_terminal : {SIGINT, SIGQUIT, SIGTERM}) ::signal(from_terminal, SIG_IGN);
  for (const int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGXCPU}) ::signal(fatal, SIG_DFL);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, cpu_seconds);
  if (kLimitMemory) set_limit(RLIMIT_AS, address_space() + (memory_mib << 20));
  // Memory that HDF5 uses before it writes it, or after it frees it, is more likely to crash here than there.
  constexpr int kPattern = 0xa5;
  ::mallopt(M_PERTURB, kPattern);
}

/// Runs a step. An Error is for the parent to find again.
template <class Step>
void step(const std::string& what, Step&& run) {
  const std::string line = what + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(1);  // the parent is gone
  try {
    run();
  } catch (const rodeo::Error&) {
  }
}

void read_array(const Hdf5Array& array) {
  if (rodeo::is_float(array.dtype())) return array.rehearse(DType::kF32);
  array.rehearse(array.dtype());
  if (array.dtype() != DType::kI64) array.rehearse(DType::kI64);
}

/// Attributes and arrays of one graph, or of one node type.
void read_group(const Hdf5File& file, const std::string& where) {
  for (const char* name : rodeo::hdf5::kTextAttributes)
    step(std::string("attribute ") + name, [&] { file.text(name); });
  for (const char* name : rodeo::hdf5::kIntegerAttributes)
    step(std::string("attribute ") + name, [&] { file.integer(name); });
  for (const char* name : rodeo::hdf5::kArrays)
    step(where + name, [&] {
      if (file.has(name)) read_array(file.array(name));
    });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string path = argv[1];
  set_limits(std::atoll(argv[2]), std::atoll(argv[3]));
  rodeo::set_num_threads(1);  // the stacks of more could need more memory than the limit
  step("its structure", [&] {
    const Hdf5File file(path);
    read_group(file, "/");
    for (const char* name : rodeo::hdf5::kHeteroAttributes)
      step(std::string("attribute ") + name, [&] { file.text(name); });
    step("its structure", [&] {
      if (!file.text("node_types")) return;
      const rodeo::hdf5::HeteroNames names = rodeo::hdf5::read_hetero_names(file);
      for (std::size_t i = 0; i < names.types.size(); ++i)
        step(rodeo::str("/", names.type_group(i)),
             [&] { read_group(file.group(names.type_group(i)), rodeo::str("/", names.type_group(i), "/")); });
      for (std::size_t i = 0; i < names.relations.size(); ++i)
        step(rodeo::str("/", names.relation_group(i)),
             [&] { read_array(file.group(names.relation_group(i)).array("edge_index")); });
    });
    step("its structure", [] {});  // closing the file
  });
  step(rodeo::hdf5::kCheckDone, [] {});
  _exit(0);  // without exit handlers: the parent has none for this file
}
