#include "core/comm/host_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/comm/reduce_in_order.h"

namespace rodeo::comm {
namespace {

std::byte* bytes_of(const Tensor& x) {
  return static_cast<std::byte*>(x.raw());
}

class MessageBackend final : public HostBackend {
 public:
  explicit MessageBackend(std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)), rank_(transport_->rank()), size_(transport_->size()) {}

  std::string_view name() const override { return transport_->name(); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void abort(int exit_code) override { transport_->abort(exit_code); }

  void all_reduce(const Tensor& x, Reduction reduction) override {
    agree({Collective::kAllReduce, x.dtype(), reduction, 0, x.shape(), {}, {}});
    // Each rank reduces an equal share of the elements, and sends the result to all.
    Rows share(ranks());
    for (int r = 0; r < size_; ++r) share[index(r)] = x.numel() / size_ + (r < x.numel() % size_ ? 1 : 0);
    const Rows offsets = offsets_of(share);
    const std::int64_t element = static_cast<std::int64_t>(size_of(x.dtype()));
    std::byte* mine = bytes_of(x) + offsets[index(rank_)] * element;
    reduce_share("all_reduce", x, share, element, reduction, mine);
    gather("all_reduce", x, share, element);
  }

  void all_gather(const Tensor& x, const Rows& rows, const Tensor& out) override {
    agree({Collective::kAllGather, x.dtype(), Reduction::kSum, 0, x.shape(), {}, rows});
    const std::int64_t bytes = row_bytes(x), begin = offsets_of(rows)[index(rank_)] * bytes;
    if (x.nbytes() > 0) std::memcpy(bytes_of(out) + begin, bytes_of(x), static_cast<std::size_t>(x.nbytes()));
    gather("all_gather", out, rows, bytes);
  }

  void reduce_scatter(const Tensor& x, const Rows& rows, Reduction reduction, const Tensor& out) override {
    agree({Collective::kReduceScatter, x.dtype(), reduction, 0, x.shape(), {}, rows});
    reduce_share("reduce_scatter", x, rows, row_bytes(x), reduction, bytes_of(out));
  }

  void all_to_all(const Tensor& x, const Rows& send_rows, const Rows& receive_rows,
                  const Tensor& out) override {
    agree({Collective::kAllToAll, x.dtype(), Reduction::kSum, 0, x.shape(), send_rows, receive_rows});
    const Rows from = offsets_of(send_rows), to = offsets_of(receive_rows);
    const std::int64_t bytes = row_bytes(x);
    const auto sent = [&](int p) {
      return Message{p, bytes_of(x) + from[index(p)] * bytes, send_rows[index(p)] * bytes};
    };
    const auto received = [&](int p) {
      return Message{p, bytes_of(out) + to[index(p)] * bytes, receive_rows[index(p)] * bytes};
    };
    const Message own = sent(rank_);
    if (own.bytes > 0) std::memcpy(received(rank_).data, own.data, static_cast<std::size_t>(own.bytes));
    exchange("all_to_all", received, sent, {x, out});
  }

  void broadcast(const Tensor& x, int root) override {
    agree({Collective::kBroadcast, x.dtype(), Reduction::kSum, root, x.shape(), {}, {}});
    const Message whole{0, bytes_of(x), x.nbytes()};
    const auto to = [&](int p) { return Message{p, whole.data, whole.bytes}; };
    const auto none = [&](int p) { return Message{p, nullptr, 0}; };
    if (rank_ == root)
      exchange("broadcast", none, to, {x});
    else
      exchange("broadcast", [&](int p) { return p == root ? to(p) : none(p); }, none, {x});
  }

  void barrier() override { agree({}); }

  Transport& transport() override { return *transport_; }

  void agree(const Call& call) override {
    const std::vector<std::int64_t> mine = encode(call, size_);
    const auto words = static_cast<std::int64_t>(mine.size());
    const Tensor all = Tensor::empty({size_, words}, DType::kI64);
    std::copy(mine.begin(), mine.end(), all.data<std::int64_t>() + rank_ * words);
    gather(comm::name(call.collective), all, Rows(ranks(), 1), words * 8);
    std::vector<Call> calls;
    for (int r = 0; r < size_; ++r) {
      const std::int64_t* begin = all.data<std::int64_t>() + r * words;
      calls.push_back(decode({begin, begin + words}, size_, r));
    }
    check_calls(calls);
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(size_); }
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  /// Receives received(p) from and sends sent(p) to every other rank p.
  template <class Received, class Sent>
  void exchange(std::string_view op, const Received& received, const Sent& sent,
                const std::vector<Tensor>& operands) {
    std::vector<Message> receives, sends;
    for (int step = 1; step < size_; ++step) {  // not all ranks send to rank 0 first
      const Message from = received((rank_ + size_ - step) % size_), to = sent((rank_ + step) % size_);
      if (from.bytes > 0) receives.push_back(from);
      if (to.bytes > 0) sends.push_back(to);
    }
    if (!receives.empty() || !sends.empty()) transport_->exchange(op, receives, sends, operands);
  }

  /// Sends this rank's block of `out` to all, and receives theirs. Rank p has rows[p] rows of `bytes` bytes.
  void gather(std::string_view op, const Tensor& out, const Rows& rows, std::int64_t bytes) {
    const Rows offsets = offsets_of(rows);
    const auto block = [&](int p, int owner) {
      return Message{p, bytes_of(out) + offsets[index(owner)] * bytes, rows[index(owner)] * bytes};
    };
    exchange(
        op, [&](int p) { return block(p, p); }, [&](int p) { return block(p, rank_); }, {out});
  }

  /// Reduces this rank's block of `x` over all ranks into `out`, in the order of ranks.
  void reduce_share(std::string_view op, const Tensor& x, const Rows& rows, std::int64_t bytes,
                    Reduction reduction, std::byte* out) {
    const Rows offsets = offsets_of(rows);
    const std::int64_t share = rows[index(rank_)] * bytes;
    const Tensor others = Tensor::empty({size_ - 1, share}, DType::kU8);
    std::vector<const std::byte*> parts(ranks());
    parts[index(rank_)] = bytes_of(x) + offsets[index(rank_)] * bytes;
    const auto received = [&](int p) {
      std::byte* part = bytes_of(others) + (p < rank_ ? p : p - 1) * share;
      parts[index(p)] = part;
      return Message{p, part, share};
    };
    const auto sent = [&](int p) {
      return Message{p, bytes_of(x) + offsets[index(p)] * bytes, rows[index(p)] * bytes};
    };
    exchange(op, received, sent, {x, others});
    const std::int64_t count = share / static_cast<std::int64_t>(size_of(x.dtype()));
    if (count > 0) reduce_in_order(parts, out, count, x.dtype(), reduction);
  }

  std::unique_ptr<Transport> transport_;
  int rank_;
  int size_;
};

}  // namespace

std::shared_ptr<HostBackend> make_host_backend(std::unique_ptr<Transport> transport) {
  return std::make_shared<MessageBackend>(std::move(transport));
}

}  // namespace rodeo::comm
