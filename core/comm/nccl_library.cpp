#include "core/comm/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

#include "core/error.h"
#include "core/quoting.h"

namespace rodeo::comm {
namespace {

NcclLibrary load() {
  // Multicast objects of NVLink need rights that containers often lack, and registered buffers tie a CUDA
  // graph to them. Whoever has set them knows better.
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);
  ::setenv("NCCL_GRAPH_REGISTER", "0", 0);
  NcclLibrary library{};
  const char* const named = std::getenv("RODEO_NCCL");
  const char* const file = named ? named : "libnccl.so.2";
  void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    library.trouble =
        str("NCCL cannot be loaded (", printable(::dlerror()),
            "): install libnccl2, or set RODEO_NCCL to the path of libnccl.so.2, such as that of the "
            "Python package nvidia-nccl-cu13, or nvidia-nccl-cu12 for drivers before 580");
    return library;
  }
  const auto find = [&](auto& function, const char* name, bool needed = true) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (!function && needed && library.trouble.empty())
      library.trouble = str(printable(file), " has no ", name, ": install NCCL 2.10 or newer");
  };
  find(library.get_version, "ncclGetVersion");
  find(library.get_error_string, "ncclGetErrorString");
  find(library.get_last_error, "ncclGetLastError", false);
  find(library.get_unique_id, "ncclGetUniqueId");
  find(library.comm_init_rank, "ncclCommInitRank");
  find(library.comm_abort, "ncclCommAbort");
  find(library.comm_get_async_error, "ncclCommGetAsyncError");
  find(library.all_gather, "ncclAllGather");
  find(library.broadcast, "ncclBroadcast");
  find(library.send, "ncclSend");
  find(library.receive, "ncclRecv");
  find(library.group_start, "ncclGroupStart");
  find(library.group_end, "ncclGroupEnd");
  if (library.trouble.empty()) library.get_version(&library.version);
  return library;
}

}  // namespace

const NcclLibrary& nccl_library() {
  static const NcclLibrary& library = *new NcclLibrary(load());
  return library;
}

bool ranks_may_share_gpus() {
  const char* const value = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return value && std::atoi(value) != 0;
}

}  // namespace rodeo::comm
