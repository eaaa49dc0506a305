#include "ops/peer_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "ops/convert.h"
#include "ops/gather_rows.h"
#include "ops/id_ranges.h"

namespace rodeo {
namespace {

Tensor rows_at(const Tensor& x, const Tensor& index) {
  return x.rank() == 1 ? take(x, index) : gather_rows(x, index);
}

}  // namespace

std::shared_ptr<const NodePartition> equal_parts(std::int64_t rows, const Communicator& ranks) {
  check(rows >= 0, "[equal_parts] rows must not be negative, got ", rows);
  std::vector<std::int64_t> counts;
  for (std::int64_t r = 0; r < ranks.size(); ++r)
    counts.push_back((r + 1) * rows / ranks.size() - r * rows / ranks.size());
  return std::make_shared<const NodePartition>(ranks, std::move(counts), /*alignment=*/1);
}

PeerRows::PeerRows(Tensor own, std::shared_ptr<const NodePartition> nodes)
    : nodes_(std::move(nodes)), own_(std::move(own)), begin_{0} {
  check((own_.rank() == 1 || own_.rank() == 2) && own_.dim(0) == nodes_->num_rows(),
        "[peer_rows] the rank has ", nodes_->num_rows(), " rows, got ", own_.shape());
  for (const std::int64_t rows : nodes_->rows()) begin_.push_back(begin_.back() + rows);
}

Shape PeerRows::with_rows(std::int64_t rows) const {
  return own_.rank() == 1 ? Shape{rows} : Shape{rows, own_.dim(1)};
}

void PeerRows::set_cache(RowCache cache) {
  const std::int64_t nodes = nodes_->num_nodes(), rows = cache.rows.dim(0);
  check(cache.slot.numel() == nodes && cache.rows.shape() == with_rows(rows) &&
            cache.rows.dtype() == own_.dtype() && cache.rows.device() == own_.device(),
        "[peer_rows] the cache is not one of ", shape(), " ", own_.dtype(), " on ", own_.device());
  check(nodes + rows <= std::numeric_limits<std::int32_t>::max(), "[peer_rows] ", nodes,
        " rows and a cache of ", rows, " are more than 2^31 - 1 together: give a smaller --feature-cache");
  std::vector<std::int32_t> place = cache.slot.to_vector<std::int32_t>();
  for (std::int64_t i = 0; i < nodes; ++i)
    place[i] = static_cast<std::int32_t>(place[i] >= 0 ? nodes + place[i] : i);
  place_ = Tensor::from(place, own_.device());
  begin_.resize(nodes_->rows().size() + 1);
  begin_.push_back(nodes + rows);
  cache_ = {std::move(cache.rows), {}};
}

Tensor PeerRows::read(const Tensor& index) const {
  const Communicator& ranks = nodes_->ranks();
  const Tensor places = place_.defined() ? take(place_, index).to(DType::kI64) : index;
  const auto [begin, order] = group_by_range(places, begin_);
  const Tensor rows = take(places, order);  // of the matrix of the rank that has them, or of the cache
  for (std::size_t group = 0; group + 1 < begin.size(); ++group) {
    const Tensor of_group = rows.slice(begin[group], begin[group + 1]);
    number_ids(of_group, -begin_[group], 1, of_group);
  }
  std::vector<std::int64_t> asked;
  for (int r = 0; r < ranks.size(); ++r) asked.push_back(begin[r + 1] - begin[r]);
  const std::vector<std::int64_t> wanted = ranks.all_to_all(Tensor::from(asked)).to_vector<std::int64_t>();
  const std::int64_t exchanged = begin[ranks.size()], all = index.numel();
  const Tensor sent = rows_at(own_, ranks.all_to_all(rows.slice(0, exchanged), asked, wanted));
  Tensor by_rank = ranks.all_to_all(sent, wanted, asked);
  if (exchanged < all) {
    const Tensor both = Tensor::empty(with_rows(all), own_.dtype(), own_.device());
    both.slice(0, exchanged).copy_from(by_rank);
    both.slice(exchanged, all).copy_from(rows_at(cache_.rows, rows.slice(exchanged, all)));
    by_rank = both;
  }
  return rows_at(by_rank, inverse_permutation(order).to(DType::kI64));
}

void PeerRows::read_in_pieces(const Tensor& index, const Tensor& rows) const {
  constexpr std::int64_t kBytes = std::int64_t{1} << 26;
  const std::int64_t count = index.numel(),
                     row_bytes = with_rows(1).numel() * static_cast<std::int64_t>(size_of(own_.dtype())),
                     piece = std::max<std::int64_t>(1, kBytes / std::max<std::int64_t>(1, row_bytes));
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t end = std::min(count, begin + piece);
    rows.slice(begin, end).copy_from(read(index.slice(begin, end)));
  }
}

}  // namespace rodeo
