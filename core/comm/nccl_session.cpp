#include "core/comm/nccl_session.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "core/comm/socket.h"
#include "core/context.h"
#include "core/cuda/runtime.h"
#include "core/cuda/wait.h"
#include "core/cuda_graph.h"
#include "core/error.h"
#include "core/quoting.h"

namespace rodeo::comm {
namespace {

constexpr double kSecondsToConnect = 60;
constexpr int kNcclThatSharesGpus = 23000;

/// What the ranks tell each other before they connect. Texts end with a zero.
struct Introduction {
  char host[64] = {}, gpu[32] = {};
  char trouble[412] = {};  // why this rank cannot use NCCL
  std::int32_t version = 0;
  std::int32_t may_share = 0;  // its GPU with other ranks
};

template <std::size_t size>
void copy_text(char (&to)[size], const std::string& text) {
  std::memcpy(to, text.data(), std::min(text.size(), size - 1));
}

Introduction introduce(Device device) {
  Introduction own;
  char host[64] = {};
  ::gethostname(host, sizeof(host) - 1);
  copy_text(own.host, host);
  try {
    copy_text(own.gpu, cuda::pci_bus_id(device));
    copy_text(own.trouble, nccl_library().trouble);
  } catch (const Error& error) {
    copy_text(own.trouble, error.what());
  }
  own.version = nccl_library().version;
  own.may_share = ranks_may_share_gpus();
  return own;
}

std::string text_of(const NcclLibrary& nccl, NcclComm comm, int result) {
  std::string text = nccl.get_error_string(result);
  const char* const last = nccl.get_last_error ? nccl.get_last_error(comm) : nullptr;
  if (last && *last) text += str(" (", printable(last), ")");
  return text + ". NCCL_DEBUG=INFO shows more; see docs/many_gpus.md";
}

/// One message of each kind with each rank, so that NCCL has made all connections before work is captured.
int use_all_connections(const NcclLibrary& nccl, NcclComm comm, int rank, int size, Device device) {
  Context& context = Context::of(device);
  const Tensor own = Tensor::zeros({size, 16}, DType::kU8, device);
  const Tensor all = Tensor::zeros({size, 16}, DType::kU8, device);
  const auto at = [](const Tensor& x, int r) { return static_cast<char*>(x.raw()) + r * 16; };
  int result = nccl.all_gather(at(own, 0), all.raw(), 16, kNcclUint8, comm, context.stream());
  for (int root = 0; result == kNcclSuccess && root < size; ++root)
    result = nccl.broadcast(own.raw(), own.raw(), 16, kNcclUint8, root, comm, context.stream());
  if (result != kNcclSuccess) return result;
  nccl.group_start();
  for (int step = 1; step < size; ++step) {
    const int from = (rank + size - step) % size, to = (rank + step) % size;
    nccl.receive(at(all, from), 16, kNcclUint8, from, comm, context.stream());
    nccl.send(at(own, to), 16, kNcclUint8, to, comm, context.stream());
  }
  result = nccl.group_end();
  if (result == kNcclSuccess) context.synchronize();
  return result;
}

}  // namespace

NcclSession*& NcclSession::current() {
  static NcclSession* session = nullptr;  // never destroyed: captured CUDA graphs may outlive all else
  return session;
}

NcclSession& NcclSession::connect(const std::shared_ptr<HostBackend>& host, Device device) {
  if (!current()) {
    check(
        !is_capturing(device),
        "[communicator] the ranks' GPUs are not connected: run the captured work once before, or connect()");
    current() = new NcclSession(host, device);
    cuda::set_wait_observer(&NcclSession::watch);
  }
  check(current()->device_ == device, "[communicator] the collectives of this rank run on ",
        current()->device_, ", got a tensor on ", device);
  return *current();
}

NcclSession::NcclSession(std::shared_ptr<HostBackend> host, Device device)
    : host_(std::move(host)), device_(device) {
  check_peers();
  join(share_id());
}

void NcclSession::check_peers() {
  const Introduction own = introduce(device_);
  const Tensor mine = Tensor::from_host(&own, {1, sizeof(own)}, DType::kU8);
  const Tensor all = Tensor::empty({host_->size(), sizeof(own)}, DType::kU8);
  host_->all_gather(mine, Rows(static_cast<std::size_t>(host_->size()), 1), all);
  const auto peer = [&](int r) {
    Introduction one;
    std::memcpy(&one, static_cast<const char*>(all.raw()) + static_cast<std::size_t>(r) * sizeof(one),
                sizeof(one));
    return one;
  };
  const int size = host_->size();
  for (int r = 0; r < size; ++r) {
    const Introduction one = peer(r);
    check(one.trouble[0] == 0, "[communicator] rank ", r, " of ", size, " on ", one.host, ": ", one.trouble);
    check(one.version == peer(0).version, "[communicator] rank 0 has NCCL ", peer(0).version, ", rank ", r,
          " has ", one.version, ": install the same version on all hosts");
    for (int s = 0; s < r; ++s) {
      const Introduction other = peer(s);
      if (std::strcmp(other.host, one.host) != 0 || std::strcmp(other.gpu, one.gpu) != 0) continue;
      check(one.may_share && other.may_share && one.version >= kNcclThatSharesGpus, "[communicator] ranks ",
            s, " and ", r, " both use the GPU ", one.gpu, " of ", one.host,
            ": each rank needs its own. Start fewer ranks, or give each rank the GPU of its local rank. To ",
            "try ranks on one GPU, use NCCL 2.30 or newer (this is ", one.version,
            ") and set NCCL_MULTI_RANK_GPU_ENABLE=1");
    }
  }
}

NcclUniqueId NcclSession::share_id() {
  const NcclLibrary& nccl = nccl_library();
  struct {
    NcclUniqueId id;
    char trouble[384];
  } shared = {};
  if (host_->rank() == 0) {
    const int result = nccl.get_unique_id(&shared.id);
    if (result != kNcclSuccess) copy_text(shared.trouble, text_of(nccl, nullptr, result));
  }
  const Tensor x = Tensor::from_host(&shared, {sizeof(shared)}, DType::kU8);
  host_->broadcast(x, 0);
  std::memcpy(&shared, x.raw(), sizeof(shared));
  check(shared.trouble[0] == 0, "[communicator] NCCL on rank 0: ", shared.trouble);
  return shared.id;
}

/// NCCL waits for all ranks without a limit: another thread does that, this one watches the ranks.
void NcclSession::join(const NcclUniqueId& id) {
  struct Joined {
    std::atomic<bool> done{false};
    int result = kNcclSuccess;
    NcclComm comm = nullptr;
    std::string error;
  };
  const auto joined = std::make_shared<Joined>();
  const int rank = host_->rank(), size = host_->size();
  std::thread([joined, id, rank, size, device = device_] {
    const NcclLibrary& nccl = nccl_library();
    try {
      Context::of(device);  // makes it the thread's device
      joined->result = nccl.comm_init_rank(&joined->comm, size, id, rank);
      if (joined->result == kNcclSuccess)
        joined->result = use_all_connections(nccl, joined->comm, rank, size, device);
    } catch (const std::exception& error) {
      joined->error = error.what();
    }
    joined->done = true;
  }).detach();
  const Clock::time_point start = Clock::now();
  while (!joined->done) {
    const double waited = seconds_since(start);
    host_->transport().watch(waited);
    check(waited < kSecondsToConnect, "[communicator] NCCL did not connect the ranks' GPUs in ",
          kSecondsToConnect, " s. NCCL_DEBUG=INFO shows what it does; see docs/many_gpus.md");
    std::this_thread::sleep_for(std::chrono::milliseconds(waited < 0.2 ? 1 : 10));
  }
  host_->transport().watch(-1);
  check(joined->error.empty(), joined->error);
  check(joined->result == kNcclSuccess,
        "[communicator] NCCL: ", text_of(nccl_library(), joined->comm, joined->result));
  comm_ = joined->comm;
}

void NcclSession::check_usable(std::string_view op) const {
  check(failure_.empty(), "[", op, "] the communicator is not usable, an earlier call failed: ", failure_);
}

void NcclSession::check_result(int result, std::string_view op) {
  if (result == kNcclSuccess) return;
  const std::string text = str("NCCL: ", text_of(nccl_library(), comm_, result));
  give_up(text);
  fail("[", op, "] ", text);
}

void NcclSession::give_up(const std::string& reason) {
  if (!failure_.empty()) return;
  failure_ = reason;
  // Kernels of NCCL that wait for other ranks end. It may take long where the network is gone: not longer
  // than the others are to wait for this rank's message.
  const auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([done, comm = comm_] {
    nccl_library().comm_abort(comm);
    *done = true;
  }).detach();
  const Clock::time_point start = Clock::now();
  while (!*done && seconds_since(start) < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Called while the host waits for the GPU (core/cuda/wait.h).
void NcclSession::watch(double waited) {
  NcclSession& session = *current();
  if (!session.failure_.empty()) return;
  if (waited < 0) return session.host_->transport().watch(waited);
  try {
    session.host_->transport().watch(waited);
  } catch (const Error& error) {
    session.give_up(error.what());
    throw;
  }
  constexpr double kSecondsForOtherReasons = 2;  // NCCL does not say which rank is gone; the others do
  int result = kNcclSuccess;
  if (waited < kSecondsForOtherReasons) return;
  nccl_library().comm_get_async_error(session.comm_, &result);
  if (result != kNcclInProgress) session.check_result(result, "communicator");
}

}  // namespace rodeo::comm
