#include "core/rank_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "core/cuda/runtime.h"
#include "core/device.h"
#include "core/external.h"
#include "core/file_descriptor.h"
#include "core/memory_stats.h"
#include "core/page_locked.h"

namespace rodeo {
namespace {

/// Equal where processes can open each other's files.
std::int64_t host_id() {
  std::array<char, 256> name{}, processes{};
  ::gethostname(name.data(), name.size() - 1);
  [[maybe_unused]] const ssize_t size =
      ::readlink("/proc/self/ns/pid", processes.data(), processes.size() - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return static_cast<std::int64_t>(std::hash<std::string>{}(name.data() + boot + processes.data()));
}

struct Hosts {
  HostRanks own;
  int first = 0;  // rank of this host
};

Hosts find_hosts(const Communicator& ranks) {
  const std::int64_t id = host_id();
  const std::vector<std::int64_t> all =
      ranks.all_gather(Tensor::from(std::vector{id})).to_vector<std::int64_t>();
  Hosts out{{0, 0, static_cast<int>(std::set(all.begin(), all.end()).size())}, -1};
  for (int r = 0; r < ranks.size(); ++r) {
    if (all[static_cast<std::size_t>(r)] != id) continue;
    if (out.first < 0) out.first = r;
    if (r < ranks.rank()) ++out.own.rank;
    ++out.own.size;
  }
  return out;
}

/// Throws OutOfMemory on all ranks if `error`, of errno, is not 0 on one of them.
void check_on_all(const Communicator& ranks, int error, std::size_t bytes) {
  const Tensor own = Tensor::from(std::vector{static_cast<std::int64_t>(error)});
  const std::vector<std::int64_t> all = ranks.all_gather(own).to_vector<std::int64_t>();
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r] != 0)
      throw OutOfMemory(str("[memory] rank ", r, " cannot share ", format_bytes(static_cast<double>(bytes)),
                            " of host memory: ", std::strerror(static_cast<int>(all[r]))));
}

/// A mapping of a file that has no name; page-locked for `device`.
class Mapping {
 public:
  Mapping(std::size_t bytes, Device device) : bytes_(bytes), device_(device) {}
  ~Mapping() {
    if (is_locked_) {
      try {
        synchronize(device_);   // kernels may still read it
      } catch (const Error&) {  // the device has failed: nothing reads it
      }
      cuda::unlock_pages(data_);
    }
    if (data_) ::munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* data() const { return data_; }
  /// Returns errno, or 0.
  int map(int file) {
    void* const data = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) return errno;
    data_ = data;
    is_locked_ = device_.is_cuda() && cuda::lock_pages(data_, bytes_, device_);
    return device_.is_cuda() && !is_locked_ ? ENOMEM : 0;
  }

 private:
  std::size_t bytes_;
  Device device_;
  void* data_ = nullptr;
  bool is_locked_ = false;
};

std::string path_of(std::int64_t process, std::int64_t file) {
  return str("/proc/", process, "/fd/", file);
}

}  // namespace

HostRanks ranks_of_host(const Communicator& ranks) {
  return ranks.size() == 1 ? HostRanks{} : find_hosts(ranks).own;
}

Tensor page_locked_of_host(const Shape& shape, DType dtype, Device device, const Communicator& ranks) {
  if (ranks.size() == 1 || shape.numel() == 0) return page_locked(shape, dtype, device);
  const Hosts hosts = find_hosts(ranks);
  const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  const bool makes = hosts.own.rank == 0;
  FileDescriptor file;
  int error = 0;
  if (makes) {
    file = FileDescriptor(::memfd_create("rodeo", MFD_CLOEXEC));
    if (file.get() < 0)
      error = errno;
    else if (bytes > static_cast<std::size_t>(memory_room(kCpu).free))
      error = ENOMEM;  // the kernel would end processes for it
    else
      error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  }
  check_on_all(ranks, error, bytes);
  const std::vector<std::int64_t> own{::getpid(), file.get()};
  const std::vector<std::int64_t> all = ranks.all_gather(Tensor::from(own, {1, 2})).to_vector<std::int64_t>();
  if (!makes) {
    const auto at = static_cast<std::size_t>(2 * hosts.first);
    file = FileDescriptor(::open(path_of(all[at], all[at + 1]).c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0) error = errno;
  }
  const auto mapping = std::make_shared<Mapping>(bytes, device);
  if (error == 0) error = mapping->map(file.get());
  check_on_all(ranks, error, bytes);  // the others have opened the file when this rank closes it
  return borrow(mapping->data(), shape, dtype, device, mapping);
}

}  // namespace rodeo
