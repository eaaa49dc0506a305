/// Communication between the processes ("ranks") of one run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/communicator_types.h"
#include "core/tensor.h"

namespace rodeo {

namespace comm {
class Backend;
}

/// A shared handle on the ranks of a run. Every rank makes the same calls in the same order.
///
/// Backends: `self` is one rank, on any device. With several ranks, CPU tensors travel by `mpi` or `tcp`, and
/// CUDA tensors by NCCL, on the stream of the calling thread's Context: a call returns when its work is
/// enqueued, and can be captured in a CUDA graph. The first collective of a CUDA tensor connects the GPUs.
/// All ranks throw the same Error if a rank has no NCCL, or two ranks use one GPU. All CUDA tensors of a rank
/// are on one device.
///
/// Tensors have any dtype. Before data is sent, the ranks compare what they call, with which dtype and shape.
/// If they differ, all ranks throw the same Error, which names two of them, and the communicator stays
/// usable.
///
/// Deterministic: an element is reduced as ((x0 + x1) + x2) + ... in the order of ranks, so its bits depend
/// on the inputs and the number of ranks alone, and are equal on all ranks. f16 and bf16 are added in f32 and
/// rounded once. Integers wrap around. CPU and GPU have the same bits, but for those of a NaN.
///
/// Errors: a call throws Error if a rank that it waits for has exited, or sends nothing for
/// CommunicatorOptions::timeout_seconds. The communicator is not usable after that. Launchers end all ranks
/// if one dies. See run_ranks() for exceptions.
///
/// Threads: one thread at a time calls functions of the communicators of a process.
class Communicator {
 public:
  /// One rank: backend `self`.
  Communicator();
  /// Joins the ranks that a launcher started, as its environment says; without a launcher there is one rank.
  /// Throws Error if the backend cannot join the ranks of this launcher (see docs/many_gpus.md), or is not
  /// part of this build.
  explicit Communicator(const CommunicatorOptions& options);

  int rank() const;
  int size() const;
  /// "self", "mpi" or "tcp".
  std::string_view backend() const;

  /// The GPU of this rank: that of its number on its host, or the only one that it sees. Throws Error if the
  /// host has too few. With NCCL_MULTI_RANK_GPU_ENABLE=1, ranks share GPUs: number modulo GPUs.
  Device gpu() const;
  /// Connects the GPUs of all ranks, as the first collective of a tensor on `device` does. Nothing on the
  /// CPU. NCCL takes memory of each GPU: call it before memory is short, and before a capture.
  void connect(Device device) const;

  /// Replaces `x` (any shape, equal on all ranks) by the sum or maximum over all ranks.
  void all_reduce(const Tensor& x, Reduction reduction = Reduction::kSum) const;

  /// x [n, ...] of every rank, in the order of ranks: [size() n, ...].
  Tensor all_gather(const Tensor& x) const;
  /// x [rows[rank()], ...]; returns [sum of rows, ...]. `rows` has a value for each rank, equal on all ranks.
  Tensor all_gather(const Tensor& x, const std::vector<std::int64_t>& rows) const;

  /// x [size() n, ...]; returns rows [rank() n, (rank() + 1) n) of the sum or maximum over all ranks: [n,
  /// ...].
  Tensor reduce_scatter(const Tensor& x, Reduction reduction = Reduction::kSum) const;
  /// x [sum of rows, ...]; returns the rank's rows of the sum or maximum: [rows[rank()], ...]. `rows` has a
  /// value for each rank, equal on all ranks.
  Tensor reduce_scatter(const Tensor& x, const std::vector<std::int64_t>& rows,
                        Reduction reduction = Reduction::kSum) const;

  /// x [size() n, ...]: block i of n rows goes to rank i. Returns the blocks for this rank in the order of
  /// their senders: [size() n, ...].
  Tensor all_to_all(const Tensor& x) const;
  /// Block i has send_rows[i] rows, and receive_rows[i] rows come from rank i: x [sum of send_rows, ...],
  /// returns [sum of receive_rows, ...]. send_rows[i] on rank k equals receive_rows[k] on rank i.
  Tensor all_to_all(const Tensor& x, const std::vector<std::int64_t>& send_rows,
                    const std::vector<std::int64_t>& receive_rows) const;

  /// Replaces `x` (any shape, equal on all ranks) by that of rank `root`.
  void broadcast(const Tensor& x, int root = 0) const;

  /// Returns when all ranks have called it.
  void barrier() const;

  /// Ends this process with `exit_code`, and all other ranks when they next wait for a rank.
  [[noreturn]] void abort(int exit_code = 1) const;

 private:
  std::shared_ptr<comm::Backend> backend_;
};

/// Runs `body` on the ranks that a launcher started, or on one, and returns its exit code. An exception of a
/// rank ends all ranks: one message on stderr names the rank, and the exit code is 1. Call it in main().
int run_ranks(const std::function<int(const Communicator&)>& body, const CommunicatorOptions& options = {});

}  // namespace rodeo
