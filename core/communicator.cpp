#include "core/communicator.h"

#include <cstdlib>
#include <utility>

#include "core/comm/host_backend.h"
#include "core/comm/launcher.h"
#include "core/comm/mpi_transport.h"
#include "core/comm/nccl_library.h"
#include "core/comm/ranks_backend.h"
#include "core/comm/self_backend.h"
#include "core/comm/tcp_transport.h"
#include "core/device.h"
#include "core/kernel_observer.h"

namespace rodeo {
namespace {

using comm::Rows;

std::shared_ptr<comm::Backend> make_backend(const CommunicatorOptions& options) {
  check(options.timeout_seconds > 0, "[communicator] timeout_seconds must be positive, got ",
        options.timeout_seconds);
  check(options.silence_seconds > 0, "[communicator] silence_seconds must be positive, got ",
        options.silence_seconds);
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  check(options.max_message_bytes >= 1 && options.max_message_bytes <= kMost,
        "[communicator] max_message_bytes must be in [1, ", kMost, "], got ", options.max_message_bytes);
  const comm::Launch launch = comm::read_launch();
  switch (comm::choose_backend(options.backend, launch, comm::built_with_mpi())) {
    case CommBackend::kMpi:
      return comm::make_ranks_backend(comm::make_host_backend(comm::make_mpi_transport(launch, options)));
    case CommBackend::kTcp:
      return comm::make_ranks_backend(comm::make_host_backend(comm::make_tcp_transport(launch, options)));
    default:
      return comm::make_self_backend();
  }
}

/// Checks x, which must have rows if `has_rows`.
void check_operand(const char* op, const Tensor& x, bool has_rows) {
  check(x.defined(), "[", op, "] x is undefined");
  check(!has_rows || x.rank() >= 1, "[", op, "] x must have rows, got shape ", x.shape());
}

/// Checks a list with a number of rows for each rank, and returns the sum.
std::int64_t check_rows(const char* op, const char* list, const comm::Backend& backend, const Rows& rows) {
  check(static_cast<int>(rows.size()) == backend.size(), "[", op, "] ", list,
        " must have a value for each of ", backend.size(), " ranks, got ", rows.size());
  std::int64_t sum = 0;
  for (const std::int64_t count : rows) {
    check(count >= 0 && count < std::int64_t{1} << 62, "[", op, "] ", list, " must not be negative, got ",
          count);
    sum += count;
    check(sum < std::int64_t{1} << 62, "[", op, "] the sum of ", list, " is too large");
  }
  return sum;
}

Rows equal_rows(const char* op, const comm::Backend& backend, const Tensor& x) {
  check_operand(op, x, true);
  check(x.dim(0) % backend.size() == 0, "[", op, "] x must have the same number of rows for each of ",
        backend.size(), " ranks, got ", x.dim(0), " rows: give the rows of each rank");
  return Rows(static_cast<std::size_t>(backend.size()), x.dim(0) / backend.size());
}

Tensor empty_like(const Tensor& x, std::int64_t rows) {
  return Tensor::empty(x.shape().with_rows(rows), x.dtype(), x.device());
}

/// Runs a collective as a kernel of the category "communication". One rank has none.
template <class Run>
void observed(const char* op, const comm::Backend& backend, std::vector<Tensor> operands, const Run& run) {
  if (backend.size() == 1 || !kernels_observed()) return run();
  const Device device = operands[0].device();
  KernelScope scope(op, KernelCategory::kCommunication, device, std::move(operands));
  run();
  scope.done();
}

}  // namespace

Communicator::Communicator() : backend_(comm::make_self_backend()) {}
Communicator::Communicator(const CommunicatorOptions& options) : backend_(make_backend(options)) {}

int Communicator::rank() const {
  return backend_->rank();
}
int Communicator::size() const {
  return backend_->size();
}
std::string_view Communicator::backend() const {
  return backend_->name();
}

Device Communicator::gpu() const {
  const int count = cuda_device_count();
  const int local_rank = comm::read_launch().local_rank;
  if (size() == 1 || count == 1) return cuda_device(0);
  check(local_rank < count || (count > 0 && comm::ranks_may_share_gpus()), "[communicator] rank ", rank(),
        " is number ", local_rank + 1, " of its host, which has ", count, " GPUs: start at most ", count,
        " ranks a host");
  return cuda_device(local_rank % count);
}

void Communicator::connect(Device device) const {
  backend_->connect(device);
}

void Communicator::all_reduce(const Tensor& x, Reduction reduction) const {
  check_operand("all_reduce", x, false);
  observed("all_reduce", *backend_, {x}, [&] { backend_->all_reduce(x, reduction); });
}

Tensor Communicator::all_gather(const Tensor& x) const {
  check_operand("all_gather", x, true);
  return all_gather(x, Rows(static_cast<std::size_t>(size()), x.dim(0)));
}

Tensor Communicator::all_gather(const Tensor& x, const std::vector<std::int64_t>& rows) const {
  check_operand("all_gather", x, true);
  const std::int64_t sum = check_rows("all_gather", "rows", *backend_, rows);
  const std::int64_t own = rows[static_cast<std::size_t>(rank())];
  check(x.dim(0) == own, "[all_gather] x must have rows[", rank(), "] = ", own, " rows, got ", x.dim(0));
  const Tensor out = empty_like(x, sum);
  observed("all_gather", *backend_, {x, out}, [&] { backend_->all_gather(x, rows, out); });
  return out;
}

Tensor Communicator::reduce_scatter(const Tensor& x, Reduction reduction) const {
  return reduce_scatter(x, equal_rows("reduce_scatter", *backend_, x), reduction);
}

Tensor Communicator::reduce_scatter(const Tensor& x, const std::vector<std::int64_t>& rows,
                                    Reduction reduction) const {
  check_operand("reduce_scatter", x, true);
  const std::int64_t sum = check_rows("reduce_scatter", "rows", *backend_, rows);
  check(x.dim(0) == sum, "[reduce_scatter] x must have the sum of rows, ", sum, ", got ", x.dim(0), " rows");
  const Tensor out = empty_like(x, rows[static_cast<std::size_t>(rank())]);
  observed("reduce_scatter", *backend_, {x, out}, [&] { backend_->reduce_scatter(x, rows, reduction, out); });
  return out;
}

Tensor Communicator::all_to_all(const Tensor& x) const {
  const Rows rows = equal_rows("all_to_all", *backend_, x);
  return all_to_all(x, rows, rows);
}

Tensor Communicator::all_to_all(const Tensor& x, const std::vector<std::int64_t>& send_rows,
                                const std::vector<std::int64_t>& receive_rows) const {
  check_operand("all_to_all", x, true);
  const std::int64_t sent = check_rows("all_to_all", "send_rows", *backend_, send_rows);
  const std::int64_t received = check_rows("all_to_all", "receive_rows", *backend_, receive_rows);
  check(x.dim(0) == sent, "[all_to_all] x must have the sum of send_rows, ", sent, ", got ", x.dim(0),
        " rows");
  const Tensor out = empty_like(x, received);
  observed("all_to_all", *backend_, {x, out}, [&] { backend_->all_to_all(x, send_rows, receive_rows, out); });
  return out;
}

void Communicator::broadcast(const Tensor& x, int root) const {
  check_operand("broadcast", x, false);
  check(root >= 0 && root < size(), "[broadcast] root must be in [0, ", size(), "), got ", root);
  observed("broadcast", *backend_, {x}, [&] { backend_->broadcast(x, root); });
}

void Communicator::barrier() const {
  backend_->barrier();
}

void Communicator::abort(int exit_code) const {
  backend_->abort(exit_code);
  std::_Exit(exit_code);
}

}  // namespace rodeo
