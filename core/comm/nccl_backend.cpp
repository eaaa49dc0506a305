#include "core/comm/nccl_backend.h"

#include <algorithm>
#include <utility>

#include "core/comm/nccl_session.h"
#include "core/context.h"
#include "core/cuda/reduce_ranks.h"

namespace rodeo::comm {
namespace {

// Up to this size of a tensor all_reduce sends it whole to all ranks: one call of NCCL instead of two.
constexpr std::int64_t kBytesSentWhole = 1 << 18;

std::size_t index(int rank) {
  return static_cast<std::size_t>(rank);
}

bool are_equal(const Rows& values) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return value == values[0]; });
}

/// NCCL moves bytes; sums and maxima are computed here, in the order of ranks. So bits do not depend on the
/// algorithm, the protocol or the version of NCCL, and are those of the CPU.
class NcclBackend final : public Backend {
 public:
  NcclBackend(std::shared_ptr<HostBackend> host, Device device)
      : host_(std::move(host)), session_(NcclSession::connect(host_, device)), nccl_(nccl_library()) {}

  std::string_view name() const override { return "nccl"; }
  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }

  void all_reduce(const Tensor& x, Reduction reduction) override {
    agree({Collective::kAllReduce, x.dtype(), reduction, 0, x.shape(), {}, {}});
    if (x.numel() == 0) return;
    const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
    if (x.nbytes() <= kBytesSentWhole) {
      const Tensor others = Tensor::empty({size() - 1, x.nbytes()}, DType::kU8, x.device());
      exchange(
          "all_reduce",
          [&](int p) {
            return Block{part(others, p, x.nbytes()), x.nbytes()};
          },
          [&](int) {
            return Block{bytes_of(x), x.nbytes()};
          });
      reduce(x, bytes_of(x), others, x.nbytes(), reduction, bytes_of(x));
      return;
    }
    Rows shares;  // in bytes, of whole elements
    for (int r = 0; r < size(); ++r)
      shares.push_back((x.numel() / size() + (r < x.numel() % size() ? 1 : 0)) * element);
    char* const mine = bytes_of(x) + offsets_of(shares)[index(rank())];
    reduce_share("all_reduce", x, shares, reduction, mine);
    gather("all_reduce", mine, bytes_of(x), shares);
  }

  void all_gather(const Tensor& x, const Rows& rows, const Tensor& out) override {
    agree({Collective::kAllGather, x.dtype(), Reduction::kSum, 0, x.shape(), {}, rows});
    Rows bytes;
    for (const std::int64_t count : rows) bytes.push_back(count * row_bytes(x));
    const std::size_t own = index(rank());
    const Rows offsets = offsets_of(rows);
    // NCCL's own all_gather copies this rank's block, too.
    if (!are_equal(bytes) && x.nbytes() > 0) out.slice(offsets[own], offsets[own + 1]).copy_from(x);
    gather("all_gather", bytes_of(x), bytes_of(out), bytes);
  }

  void reduce_scatter(const Tensor& x, const Rows& rows, Reduction reduction, const Tensor& out) override {
    agree({Collective::kReduceScatter, x.dtype(), reduction, 0, x.shape(), {}, rows});
    Rows bytes;
    for (const std::int64_t count : rows) bytes.push_back(count * row_bytes(x));
    reduce_share("reduce_scatter", x, bytes, reduction, bytes_of(out));
  }

  void all_to_all(const Tensor& x, const Rows& send_rows, const Rows& receive_rows,
                  const Tensor& out) override {
    agree({Collective::kAllToAll, x.dtype(), Reduction::kSum, 0, x.shape(), send_rows, receive_rows});
    const Rows from = offsets_of(send_rows), to = offsets_of(receive_rows);
    const std::int64_t bytes = row_bytes(x);
    const std::size_t own = index(rank());
    if (send_rows[own] * bytes > 0)
      out.slice(to[own], to[own + 1]).copy_from(x.slice(from[own], from[own + 1]));
    exchange(
        "all_to_all",
        [&](int p) {
          return Block{bytes_of(out) + to[index(p)] * bytes, receive_rows[index(p)] * bytes};
        },
        [&](int p) {
          return Block{bytes_of(x) + from[index(p)] * bytes, send_rows[index(p)] * bytes};
        });
  }

  void broadcast(const Tensor& x, int root) override {
    agree({Collective::kBroadcast, x.dtype(), Reduction::kSum, root, x.shape(), {}, {}});
    if (x.nbytes() == 0) return;
    const auto bytes = static_cast<std::size_t>(x.nbytes());
    session_.check_result(
        nccl_.broadcast(x.raw(), x.raw(), bytes, kNcclUint8, root, session_.comm(), stream()), "broadcast");
  }

  void barrier() override { host_->barrier(); }
  void abort(int exit_code) override { host_->abort(exit_code); }

 private:
  struct Block {
    char* data;
    std::int64_t bytes;
  };

  static char* bytes_of(const Tensor& x) { return static_cast<char*>(x.raw()); }
  CUstream_st* stream() const { return Context::of(session_.device()).stream(); }
  /// The contribution of rank p in a buffer of those of all other ranks.
  char* part(const Tensor& others, int p, std::int64_t bytes) const {
    return bytes_of(others) + (p < rank() ? p : p - 1) * bytes;
  }

  /// Ranks compare their calls on the host, also while a CUDA graph is captured; a replay needs no
  /// comparison.
  void agree(Call call) {
    call.cuda = true;
    session_.check_usable(comm::name(call.collective));
    try {
      host_->agree(call);
    } catch (const Error& error) {
      if (!host_->transport().usable()) session_.give_up(error.what());
      throw;
    }
  }

  /// Receives received(p) from and sends sent(p) to every other rank p.
  template <class Received, class Sent>
  void exchange(std::string_view op, const Received& received, const Sent& sent) {
    session_.check_result(nccl_.group_start(), op);
    int result = kNcclSuccess;
    for (int step = 1; step < size(); ++step) {
      const int from = (rank() + size() - step) % size(), to = (rank() + step) % size();
      const Block in = received(from), out = sent(to);
      if (in.bytes > 0 && result == kNcclSuccess)
        result = nccl_.receive(in.data, static_cast<std::size_t>(in.bytes), kNcclUint8, from, session_.comm(),
                               stream());
      if (out.bytes > 0 && result == kNcclSuccess)
        result = nccl_.send(out.data, static_cast<std::size_t>(out.bytes), kNcclUint8, to, session_.comm(),
                            stream());
    }
    const int ended = nccl_.group_end();
    session_.check_result(result, op);
    session_.check_result(ended, op);
  }

  /// Gathers blocks of bytes[p] bytes of each rank p. The own one, `mine`, is in its place in `out`, too,
  /// unless all blocks are equally long.
  void gather(std::string_view op, char* mine, char* out, const Rows& bytes) {
    const bool equal = are_equal(bytes);
    if (equal && bytes[0] == 0) return;
    if (equal)
      return session_.check_result(nccl_.all_gather(mine, out, static_cast<std::size_t>(bytes[0]), kNcclUint8,
                                                    session_.comm(), stream()),
                                   op);
    const Rows offsets = offsets_of(bytes);
    exchange(
        op,
        [&](int p) {
          return Block{out + offsets[index(p)], bytes[index(p)]};
        },
        [&](int) {
          return Block{mine, bytes[index(rank())]};
        });
  }

  /// Reduces this rank's block of `x` over all ranks into `out`. Rank p has the block of bytes[p] bytes.
  void reduce_share(std::string_view op, const Tensor& x, const Rows& bytes, Reduction reduction, char* out) {
    const Rows offsets = offsets_of(bytes);
    const std::int64_t share = bytes[index(rank())];
    const Tensor others = Tensor::empty({size() - 1, share}, DType::kU8, x.device());
    exchange(
        op,
        [&](int p) {
          return Block{part(others, p, share), share};
        },
        [&](int p) {
          return Block{bytes_of(x) + offsets[index(p)], bytes[index(p)]};
        });
    reduce(x, bytes_of(x) + offsets[index(rank())], others, share, reduction, out);
  }

  void reduce(const Tensor& x, const char* own, const Tensor& others, std::int64_t bytes, Reduction reduction,
              char* out) {
    const std::int64_t count = bytes / static_cast<std::int64_t>(size_of(x.dtype()));
    if (count == 0) return;
    const void* const theirs = size() > 1 ? others.raw() : nullptr;
    cuda::reduce_ranks({own, theirs, rank(), size(), count}, out, count, x.dtype(), reduction, x.device());
  }

  std::shared_ptr<HostBackend> host_;
  NcclSession& session_;
  const NcclLibrary& nccl_;
};

}  // namespace

std::shared_ptr<Backend> make_nccl_backend(std::shared_ptr<HostBackend> host, Device device) {
  return std::make_shared<NcclBackend>(std::move(host), device);
}

}  // namespace rodeo::comm
