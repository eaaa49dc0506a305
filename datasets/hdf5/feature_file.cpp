#include "datasets/feature_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "datasets/hdf5/row_ranges.h"
#include "datasets/hdf5_file.h"

namespace rodeo {
namespace {

// The number of requests that keeps a drive busy. Threads that wait for it take no processor.
constexpr int kThreads = 16;
constexpr std::size_t kMostRangesAtOnce = 64;

Hdf5Array features_of(const std::string& path) {
  const Hdf5File file(path);
  check(!file.has("x_indptr"), path,
        ": rows are read from dense features, /x, and those of the file are sparse, /x_indptr");
  Hdf5Array x = file.array("x");
  check(x.shape().rank() == 2 && x.shape()[1] > 0, x.where(), " must be numbers [nodes, features], got ",
        x.shape());
  const DType dtype = x.dtype();
  check(x.plain() && (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16), x.where(),
        " cannot be read row by row: it is compressed, chunked, or not f32, f16 or bf16. Write a copy that "
        "can: rodeo_data unpack ",
        path, " OUT");
  return x;
}

}  // namespace

/// What the threads share.
struct FeatureFile::State {
  struct Job {
    std::vector<PlacedRow> rows;
    std::vector<RowRange> ranges;  // once the rows are sorted
    char* out = nullptr;
    bool sorting = false, sorted = false;
    std::size_t next = 0;  // range that no thread has taken
    int working = 0;       // threads that read ranges of it
    std::exception_ptr error;

    bool taken() const { return sorted && (next == ranges.size() || error); }
    bool done() const { return taken() && working == 0; }
  };

  explicit State(const Hdf5Array& x)
      : file(x.plain()->file),
        offset(x.plain()->offset),
        where(x.where()),
        dtype(x.dtype()),
        shape(x.shape()) {
    width = shape[1];
    row_bytes = width * static_cast<std::int64_t>(size_of(dtype));
    struct stat status {};
    check(::fstat(file->get(), &status) == 0 && offset + shape[0] * row_bytes <= status.st_size, where,
          " goes beyond the end of the file: it is truncated");
    // Rows are far apart: the kernel should not read what follows them.
    ::posix_fadvise(file->get(), 0, 0, POSIX_FADV_RANDOM);
    for (int i = 0; i < kThreads; ++i) try {
        threads.emplace_back([this] { work(); });
      } catch (const std::system_error&) {  // no more threads: fewer do
        if (threads.empty()) throw;
        break;
      }
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    has_work.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  void work() {
    std::vector<char> buffer;
    std::unique_lock lock(mutex);
    for (;;) {
      const std::shared_ptr<Job> job = next_job();
      if (job) {
        run(*job, buffer, lock);
      } else {
        if (stopping) return;
        has_work.wait(lock);
      }
    }
  }

  /// The first one that needs a thread. Jobs without one more range to take are forgotten here.
  std::shared_ptr<Job> next_job() {
    while (!jobs.empty() && jobs.front()->taken()) jobs.pop_front();
    for (const std::shared_ptr<Job>& job : jobs)
      if (!job->sorting && !job->taken()) return job;
    return nullptr;
  }

  void run(Job& job, std::vector<char>& buffer, std::unique_lock<std::mutex>& lock) {
    std::exception_ptr error;
    ++job.working;
    if (!job.sorted) {
      job.sorting = true;
      lock.unlock();
      try {
        std::ranges::sort(job.rows, [](const PlacedRow& a, const PlacedRow& b) {
          return a.row != b.row ? a.row < b.row : a.place < b.place;
        });
        job.ranges = merge_rows(job.rows, row_bytes);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      job.sorting = false, job.sorted = true;
      has_work.notify_all();
    } else {
      const std::size_t begin = job.next,
                        step = std::clamp<std::size_t>(job.ranges.size() / (std::size_t{4} * kThreads), 1,
                                                       kMostRangesAtOnce);
      const std::size_t end = job.next = std::min(job.ranges.size(), begin + step);
      lock.unlock();
      try {
        for (std::size_t i = begin; i < end; ++i) read_range(job, job.ranges[i], buffer);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
    }
    if (error && !job.error) job.error = error;
    --job.working;
    if (job.done()) finished.notify_all();
  }

  void read_range(const Job& job, const RowRange& range, std::vector<char>& buffer) {
    const PlacedRow* const rows = job.rows.data();
    bool in_order = range.rows == static_cast<std::int64_t>(range.end - range.begin);
    for (std::size_t i = range.begin; in_order && i < range.end; ++i)
      in_order = rows[i].place - rows[range.begin].place == rows[i].row - range.first;
    char* from = nullptr;
    if (in_order) {
      from = job.out + rows[range.begin].place * row_bytes;
    } else {
      buffer.resize(static_cast<std::size_t>(range.rows * row_bytes));
      from = buffer.data();
    }
    read_bytes(range, from);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const char* const row = from + (rows[i].row - range.first) * row_bytes;
      check_finite(rows[i].row, row);
      if (!in_order)
        std::memcpy(job.out + rows[i].place * row_bytes, row, static_cast<std::size_t>(row_bytes));
    }
  }

  void read_bytes(const RowRange& range, char* to) {
    const std::int64_t bytes = range.rows * row_bytes;
    for (std::int64_t at = 0; at < bytes;) {
      const ssize_t got = ::pread(file->get(), to + at, static_cast<std::size_t>(bytes - at),
                                  static_cast<off_t>(offset + range.first * row_bytes + at));
      if (got < 0 && errno == EINTR) continue;
      const std::int64_t row = range.first + at / row_bytes;
      check(got >= 0, where, "[", row, "] cannot be read: ", std::strerror(errno));
      check(got > 0, where, "[", row,
            "] is beyond the end of the file: it was truncated after it was opened");
      at += got;
      bytes_read += got;
    }
  }

  /// Word: of the size of a value; infinity and NaN have all bits of the exponent.
  template <class Word>
  void check_exponents(std::int64_t row, const char* values, Word exponent) const {
    const auto is_bad = [=](std::int64_t i) {
      Word word;
      std::memcpy(&word, values + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
      return (word & exponent) == exponent;
    };
    bool bad = false;
    for (std::int64_t i = 0; i < width; ++i) bad |= is_bad(i);
    if (!bad) return;
    for (std::int64_t i = 0; i < width; ++i)
      check(!is_bad(i), where, "[", row, ", ", i, "] is not a finite float");
  }
  void check_finite(std::int64_t row, const char* values) const {
    if (dtype == DType::kF32)
      check_exponents<std::uint32_t>(row, values, 0x7f800000);
    else
      check_exponents<std::uint16_t>(row, values, dtype == DType::kF16 ? 0x7c00 : 0x7f80);
  }

  const std::shared_ptr<const FileDescriptor> file;
  const std::int64_t offset;
  const std::string where;
  const DType dtype;
  const Shape shape;
  std::int64_t width = 0, row_bytes = 0;
  std::atomic<std::int64_t> bytes_read{0};

  std::mutex mutex;  // of all below, and of the jobs
  std::condition_variable has_work, finished;
  std::deque<std::shared_ptr<Job>> jobs;
  bool stopping = false;
  std::vector<std::thread> threads;
};

class FeatureFile::Started : public Reading {
 public:
  Started(State& state, std::shared_ptr<State::Job> job) : state_(state), job_(std::move(job)) {}
  ~Started() override {
    std::unique_lock lock(state_.mutex);
    if (!job_->taken() && !job_->error)
      job_->error = std::make_exception_ptr(Error("[feature_file] dropped"));
    if (!job_->sorting) job_->sorted = true;  // no thread will begin it
    state_.finished.wait(lock, [&] { return job_->done(); });
  }
  void wait() override {
    std::unique_lock lock(state_.mutex);
    state_.finished.wait(lock, [&] { return job_->done(); });
    if (job_->error) std::rethrow_exception(job_->error);
  }

 private:
  State& state_;
  std::shared_ptr<State::Job> job_;
};

FeatureFile::FeatureFile(const std::string& path) : state_(std::make_unique<State>(features_of(path))) {}
FeatureFile::~FeatureFile() = default;

const Shape& FeatureFile::shape() const {
  return state_->shape;
}
DType FeatureFile::dtype() const {
  return state_->dtype;
}
std::int64_t FeatureFile::bytes_read() const {
  return state_->bytes_read;
}

std::unique_ptr<FeatureFile::Reading> FeatureFile::start(std::vector<std::int64_t> row, void* out) const {
  const auto job = std::make_shared<State::Job>();
  job->out = static_cast<char*>(out);
  job->rows.reserve(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    check(row[i] >= 0 && row[i] < shape()[0], "[feature_file] row[", i, "] = ", row[i], " is outside [0, ",
          shape()[0], ")");
    job->rows.push_back({row[i], static_cast<std::int64_t>(i)});
  }
  {
    const std::lock_guard lock(state_->mutex);
    if (row.empty())
      job->sorted = true;
    else
      state_->jobs.push_back(job);
  }
  state_->has_work.notify_one();
  return std::make_unique<Started>(*state_, job);
}

std::string feature_file_reason(const std::string& path) {
  try {
    features_of(path);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace rodeo
