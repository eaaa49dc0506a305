#include "core/comm/call.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace rodeo::comm {
namespace {

constexpr int kFixedWords = 6 + Shape::kMaxRank;

const char* name(Reduction reduction) {
  return reduction == Reduction::kSum ? "sum" : "max";
}

bool same_rows(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 1; i < a.rank(); ++i)
    if (a[i] != b[i]) return false;
  return true;
}

/// all_gather, reduce_scatter: `rows` of rank r against those of rank 0, first where rank r speaks of itself.
void check_rows(const std::string& op, const Call& first, const Call& other, int r) {
  const Rows &want = first.receive_rows, &got = other.receive_rows;
  const auto check_entry = [&](std::size_t i) {
    check(want[i] == got[i], op, "rank 0 counts ", want[i], " rows for rank ", i, ", rank ", r, " counts ",
          got[i]);
  };
  check_entry(static_cast<std::size_t>(r));
  for (std::size_t i = 0; i < want.size(); ++i) check_entry(i);
}

}  // namespace

const char* name(Collective collective) {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter",
                                    "all_to_all", "broadcast",  "barrier"};
  return kNames[static_cast<int>(collective)];
}

std::vector<std::int64_t> encode(const Call& call, int num_ranks) {
  const auto ranks = static_cast<std::size_t>(num_ranks);
  std::vector<std::int64_t> words(kFixedWords + 2 * ranks);
  words[0] = static_cast<std::int64_t>(call.collective);
  words[1] = static_cast<std::int64_t>(call.dtype);
  words[2] = static_cast<std::int64_t>(call.reduction);
  words[3] = call.root;
  words[4] = call.cuda;
  words[5] = call.shape.rank();
  std::ranges::copy(call.shape.sizes(), words.begin() + 6);
  std::copy(call.send_rows.begin(), call.send_rows.end(), words.begin() + kFixedWords);
  std::copy(call.receive_rows.begin(), call.receive_rows.end(), words.end() - num_ranks);
  return words;
}

Call decode(const std::vector<std::int64_t>& words, int num_ranks, int rank) {
  const std::int64_t ends[] = {6, std::ssize(kEnumNames<DType>.rows), 2, num_ranks, 2, Shape::kMaxRank + 1};
  bool valid = true;
  for (std::size_t i = 0; i < words.size(); ++i)
    valid = valid && words[i] >= 0 && (i >= std::size(ends) || words[i] < ends[i]);
  check(valid, "[communicator] rank ", rank,
        " sent words that are no call: do all ranks run the same version?");
  Call call;
  call.collective = static_cast<Collective>(words[0]);
  call.dtype = static_cast<DType>(words[1]);
  call.reduction = static_cast<Reduction>(words[2]);
  call.root = static_cast<int>(words[3]);
  call.shape = Shape(std::span(words).subspan(6, static_cast<std::size_t>(words[5])));
  call.cuda = words[4] != 0;
  call.send_rows.assign(words.begin() + kFixedWords, words.end() - num_ranks);
  call.receive_rows.assign(words.end() - num_ranks, words.end());
  return call;
}

void check_calls(const std::vector<Call>& calls) {
  const Call& first = calls[0];
  const std::string op = str("[", name(first.collective), "] ");
  const bool has_rows = first.collective == Collective::kAllGather ||
                        first.collective == Collective::kReduceScatter ||
                        first.collective == Collective::kAllToAll;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const Call& other = calls[i];
    const int r = static_cast<int>(i);
    check(other.collective == first.collective, "[communicator] rank 0 calls ", name(first.collective),
          ", rank ", r, " calls ", name(other.collective),
          ": all ranks must make the same calls in the same order");
    const auto place = [](const Call& call) { return call.cuda ? "a GPU" : "the CPU"; };
    check(other.cuda == first.cuda, op, "rank 0 has a tensor on ", place(first), ", rank ", r, " on ",
          place(other));
    const bool same_shape = has_rows ? same_rows(first.shape, other.shape) : first.shape == other.shape;
    check(other.dtype == first.dtype && same_shape, op, "rank 0 has ", first.dtype, " ", first.shape,
          ", rank ", r, " has ", other.dtype, " ", other.shape, ": dtypes and shapes must be equal",
          has_rows ? " but for the number of rows" : "");
    check(other.reduction == first.reduction, op, "rank 0 computes the ", name(first.reduction), ", rank ", r,
          " the ", name(other.reduction));
    check(other.root == first.root, op, "rank 0 names root ", first.root, ", rank ", r, " names root ",
          other.root);
    if (has_rows && first.collective != Collective::kAllToAll) check_rows(op, first, other, r);
  }
  if (first.collective != Collective::kAllToAll) return;
  for (std::size_t from = 0; from < calls.size(); ++from)
    for (std::size_t to = 0; to < calls.size(); ++to)
      check(calls[from].send_rows[to] == calls[to].receive_rows[from], op, "rank ", from, " sends ",
            calls[from].send_rows[to], " rows to rank ", to, ", which expects ",
            calls[to].receive_rows[from]);
}

}  // namespace rodeo::comm
