#include "core/random.h"

#include "core/random_streams.h"

namespace rodeo {
namespace {
thread_local RandomStep* current = nullptr;
thread_local std::uint64_t steps_begun = 0, first_stream = 0;
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

RandomKey Random::next() {
  if (!current) return {seed_, stream_++};
  if (step_ != current->id_) {
    step_ = current->id_;
    position_ = 0;
  }
  return {seed_, first_stream + position_++, current->done_, current->first_row_};
}

}  // namespace rodeo
