/// The functions of NCCL that Rodeo calls, loaded with dlopen() on first use. No header of NCCL is needed:
/// one build runs with any NCCL 2 that is installed, with that of a Python wheel, or without. The signatures
/// are those of NCCL's documented C interface, which NCCL 2 keeps stable.
#pragma once

#include <cstddef>
#include <string>

struct CUstream_st;

namespace rodeo::comm {

struct NcclUniqueId {
  char bytes[128];
};
using NcclComm = struct NcclCommOpaque*;

constexpr int kNcclSuccess = 0, kNcclInProgress = 7;  // ncclResult_t
constexpr int kNcclUint8 = 1;                         // ncclDataType_t

struct NcclLibrary {
  int (*get_version)(int* version);
  const char* (*get_error_string)(int result);
  const char* (*get_last_error)(NcclComm comm);  // null: NCCL before 2.13
  int (*get_unique_id)(NcclUniqueId* id);
  int (*comm_init_rank)(NcclComm* comm, int size, NcclUniqueId id, int rank);
  int (*comm_abort)(NcclComm comm);
  int (*comm_get_async_error)(NcclComm comm, int* result);
  int (*all_gather)(const void* from, void* to, std::size_t count, int dtype, NcclComm comm,
                    CUstream_st* stream);
  int (*broadcast)(const void* from, void* to, std::size_t count, int dtype, int root, NcclComm comm,
                   CUstream_st* stream);
  int (*send)(const void* from, std::size_t count, int dtype, int peer, NcclComm comm, CUstream_st* stream);
  int (*receive)(void* to, std::size_t count, int dtype, int peer, NcclComm comm, CUstream_st* stream);
  int (*group_start)();
  int (*group_end)();

  int version = 0;      // 22803 is 2.28.3
  std::string trouble;  // why it is not loaded, and what to do; empty: it is
};

/// Loads $RODEO_NCCL, or else libnccl.so.2 of the loader's search path. Sets NCCL_NVLS_ENABLE and
/// NCCL_GRAPH_REGISTER to 0 where they are not set.
const NcclLibrary& nccl_library();

/// NCCL_MULTI_RANK_GPU_ENABLE is set and not 0: NCCL 2.30 and newer let several ranks use one GPU.
bool ranks_may_share_gpus();

}  // namespace rodeo::comm
