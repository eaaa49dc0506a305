#include "core/adjacency.h"

#include <limits>
#include <utility>
#include <vector>

#include "core/context.h"
#include "core/cuda/runtime.h"
#include "core/node_partition.h"

namespace rodeo {

struct Adjacency::State {
  explicit State(Csr given) : csr(std::move(given)) {
    if (csr.col.device().is_cuda()) streams.push_back(Context::of(csr.col.device()).stream());
  }
  // Memory is freed in the order of the stream that allocated it. Other streams may still read it.
  ~State() {
    if (streams.size() > 1) cuda::join_streams(streams, csr.col.device());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Csr csr;
  std::unique_ptr<const ShardedRows> shard;
  std::recursive_mutex mutex;  // of the cache; recursive, because making one value uses others
  Cache cache;
  // On CUDA: the streams of the threads that made the graph or used its cache; last the one that used it
  // last.
  std::vector<CUstream_st*> streams;
};

namespace {

void check_form(const Csr& csr) {
  check(csr.rows >= 0 && csr.cols >= 0 && csr.cols <= std::numeric_limits<std::int32_t>::max(),
        "[adjacency] rows must be >= 0 and cols in [0, 2^31 - 1], got ", csr.rows, " x ", csr.cols);
  check(csr.row_ptr.defined() && csr.row_ptr.dtype() == DType::kI64 &&
            csr.row_ptr.shape() == Shape{csr.rows + 1},
        "[adjacency] row_ptr must be i64 [", csr.rows + 1, "]");
  check(csr.col.defined() && csr.col.dtype() == DType::kI32 && csr.col.rank() == 1,
        "[adjacency] col must be i32 [edges]");
  check(csr.col.device() == csr.row_ptr.device(), "[adjacency] row_ptr is on ", csr.row_ptr.device(),
        ", col on ", csr.col.device());
}

void check_values(const Csr& csr) {
  const auto row_ptr = csr.row_ptr.to_vector<std::int64_t>();
  const auto col = csr.col.to_vector<std::int32_t>();
  check(row_ptr.front() == 0, "[adjacency] row_ptr[0] must be 0, got ", row_ptr.front());
  for (std::int64_t i = 0; i < csr.rows; ++i)
    check(row_ptr[i] <= row_ptr[i + 1], "[adjacency] row_ptr decreases at row ", i, ": ", row_ptr[i], " > ",
          row_ptr[i + 1]);
  check(row_ptr.back() == csr.col.numel(), "[adjacency] row_ptr ends at ", row_ptr.back(), ", but col has ",
        csr.col.numel(), " edges");
  for (std::size_t e = 0; e < col.size(); ++e)
    check(col[e] >= 0 && col[e] < csr.cols, "[adjacency] col[", e, "] = ", col[e], " is outside [0, ",
          csr.cols, ")");
}

}  // namespace

Adjacency::Adjacency(Csr csr) {
  check_form(csr);
  check_values(csr);
  state_ = std::make_shared<State>(std::move(csr));
}

Adjacency Adjacency::trusted(Csr csr) {
  check_form(csr);
  Adjacency adj;
  adj.state_ = std::make_shared<State>(std::move(csr));
  return adj;
}

Adjacency Adjacency::sharded(Csr rows, std::shared_ptr<const NodePartition> nodes, bool symmetric) {
  check(nodes != nullptr, "[adjacency] a sharded graph needs a partition");
  check((rows.rows == nodes->num_rows() || !symmetric) && rows.cols == nodes->num_nodes(),
        "[adjacency] the rows of a rank must be ", nodes->num_rows(), " x ", nodes->num_nodes(), ", got ",
        rows.rows, " x ", rows.cols);
  Adjacency adj = trusted(rows);
  adj.state_->shard =
      std::make_unique<const ShardedRows>(ShardedRows{std::move(nodes), trusted(rows), symmetric});
  return adj;
}

const Csr& Adjacency::form() const {
  check(defined(), "[adjacency] the graph is undefined");
  return state_->csr;
}

const Csr& Adjacency::csr() const {
  check(!is_sharded(),
        "[adjacency] the graph is sharded over ranks, and this operation has no form for that");
  return form();
}

std::int64_t Adjacency::cols() const {
  return is_sharded() ? shard()->nodes->num_rows() : form().cols;
}

bool Adjacency::is_sharded() const {
  return shard() != nullptr;
}

const ShardedRows* Adjacency::shard() const {
  check(defined(), "[adjacency] the graph is undefined");
  return state_->shard.get();
}

Adjacency::CacheLock Adjacency::lock_cache() const {
  check(defined(), "[adjacency] the graph is undefined");
  return CacheLock(state_->mutex);
}

Adjacency::Cache& Adjacency::cache() const {
  // Values may still be being computed on the stream of the thread that created them.
  if (const Device device = this->device(); device.is_cuda()) {
    CUstream_st* const stream = Context::of(device).stream();
    std::vector<CUstream_st*>& streams = state_->streams;
    if (streams.back() != stream && cuda::order_after(streams.back(), device)) {
      std::erase(streams, stream);
      streams.push_back(stream);
    }
  }
  return state_->cache;
}

Adjacency Adjacency::to(Device device) const {
  if (device == this->device()) return *this;
  if (const ShardedRows* of_rank = shard()) {
    const Csr& csr = of_rank->rows.csr();
    return sharded({csr.rows, csr.cols, csr.row_ptr.to(device), csr.col.to(device)}, of_rank->nodes,
                   of_rank->symmetric);
  }
  return trusted({rows(), cols(), csr().row_ptr.to(device), csr().col.to(device)});
}

}  // namespace rodeo
