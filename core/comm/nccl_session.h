/// The process's part in NCCL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/comm/host_backend.h"
#include "core/comm/nccl_library.h"

namespace rodeo::comm {

class NcclSession {
 public:
  /// Connects the GPUs of all ranks in the first call, see make_nccl_backend(). `host` is used from then on.
  static NcclSession& connect(const std::shared_ptr<HostBackend>& host, Device device);

  NcclComm comm() const { return comm_; }
  Device device() const { return device_; }
  /// Throws Error if an earlier failure has ended NCCL's work.
  void check_usable(std::string_view op) const;
  /// Throws Error with NCCL's reason, and ends its work, unless `result` is success.
  void check_result(int result, std::string_view op);
  /// Ends NCCL's work on the GPU, so that nothing waits for it.
  void give_up(const std::string& reason);

 private:
  NcclSession(std::shared_ptr<HostBackend> host, Device device);
  static NcclSession*& current();
  static void watch(double waited);
  void check_peers();
  NcclUniqueId share_id();
  void join(const NcclUniqueId& id);

  std::shared_ptr<HostBackend> host_;
  Device device_;
  NcclComm comm_ = nullptr;
  std::string failure_;
};

}  // namespace rodeo::comm
