#include "core/random.h"

#include <optional>

#include "core/random_streams.h"

namespace rodeo {
namespace {
thread_local RandomStep* current = nullptr;
thread_local std::uint64_t steps_begun = 0, first_stream = 0;
thread_local std::optional<std::int64_t> scoped_first_row;
}  // namespace

RandomStep::RandomStep(const std::int64_t* done, std::int64_t first_row)
    : done_(done), first_row_(first_row), id_(++steps_begun), outer_(current) {
  current = this;
}

RandomStep::~RandomStep() {
  current = outer_;
}

ScopedStreams::ScopedStreams(std::uint64_t first) {
  first_stream = first;
}

ScopedStreams::~ScopedStreams() {
  first_stream = 0;
}

ScopedFirstRow::ScopedFirstRow(std::int64_t first_row) {
  scoped_first_row = first_row;
}

ScopedFirstRow::~ScopedFirstRow() {
  scoped_first_row.reset();
}

RandomKey Random::next() {
  if (!current) return {seed_, stream_++};
  if (step_ != current->id_) {
    step_ = current->id_;
    position_ = 0;
  }
  return {seed_, first_stream + position_++, current->done_, scoped_first_row.value_or(current->first_row_)};
}

}  // namespace rodeo
