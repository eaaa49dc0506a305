#include "core/comm/ranks_backend.h"

#include <utility>

#include "core/comm/nccl_backend.h"

namespace rodeo::comm {
namespace {

class RanksBackend final : public Backend {
 public:
  explicit RanksBackend(std::shared_ptr<HostBackend> host) : host_(std::move(host)) {}

  std::string_view name() const override { return host_->name(); }
  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }

  void all_reduce(const Tensor& x, Reduction reduction) override { on(x).all_reduce(x, reduction); }
  void all_gather(const Tensor& x, const Rows& rows, const Tensor& out) override {
    on(x).all_gather(x, rows, out);
  }
  void reduce_scatter(const Tensor& x, const Rows& rows, Reduction reduction, const Tensor& out) override {
    on(x).reduce_scatter(x, rows, reduction, out);
  }
  void all_to_all(const Tensor& x, const Rows& send_rows, const Rows& receive_rows,
                  const Tensor& out) override {
    on(x).all_to_all(x, send_rows, receive_rows, out);
  }
  void broadcast(const Tensor& x, int root) override { on(x).broadcast(x, root); }
  void barrier() override { host_->barrier(); }
  void abort(int exit_code) override { host_->abort(exit_code); }
  void connect(Device device) override {
    if (device.is_cuda()) nccl(device);
  }

 private:
  Backend& on(const Tensor& x) {
    return x.device().is_cuda() ? nccl(x.device()) : static_cast<Backend&>(*host_);
  }
  Backend& nccl(Device device) {
    if (!nccl_) nccl_ = make_nccl_backend(host_, device);
    return *nccl_;
  }

  std::shared_ptr<HostBackend> host_;
  std::shared_ptr<Backend> nccl_;  // from the first collective of a CUDA tensor on
};

}  // namespace

std::shared_ptr<Backend> make_ranks_backend(std::shared_ptr<HostBackend> host) {
  return std::make_shared<RanksBackend>(std::move(host));
}

}  // namespace rodeo::comm
