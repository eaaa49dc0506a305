#include "train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "epoch-", kUnfinished = ".part";
constexpr const char *kWeights = "weights.safetensors", *kBest = "best.safetensors",
                     *kState = "state.safetensors", *kSums = "checksums";

// Not a range-for over directory_iterator: that throws if a folder is removed meanwhile.
std::vector<fs::path> entries(const std::string& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    all.push_back(at->path());
  check(!error, folder, ": cannot be read: ", error.message());
  return all;
}

std::optional<int> epoch_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) return {};
  const char* const last = name.data() + name.size();
  int epoch = 0;
  const auto [end, error] = std::from_chars(name.data() + kPrefix.size(), last, epoch);
  return error == std::errc{} && end == last ? std::optional(epoch) : std::nullopt;
}

std::optional<int> latest_epoch(const std::string& folder) {
  std::optional<int> latest;
  for (const fs::path& path : entries(folder))
    if (const auto epoch = epoch_of(path)) latest = std::max(latest.value_or(0), *epoch);
  return latest;
}

std::string folder_of(const std::string& folder, int epoch) {
  return fmt::format("{}/{}{:06}", folder, kPrefix, epoch);
}

/// zlib's CRC-32 of a file.
std::string checksum_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.is_open(), path, ": cannot be read: ", std::strerror(errno));
  std::vector<char> block(std::size_t{1} << 20);
  uLong sum = crc32(0, nullptr, 0);
  while (file.read(block.data(), std::ssize(block)), file.gcount() > 0)
    sum = crc32(sum, reinterpret_cast<const Bytef*>(block.data()), static_cast<uInt>(file.gcount()));
  return fmt::format("{:08x}", sum);
}

/// The line of a file in `checksums`: "5d41402a weights.safetensors".
std::string sum_line(const std::string& folder, const char* name) {
  return fmt::format("{} {}\n", checksum_of(folder + "/" + name), name);
}

/// Returns false for a checkpoint of a version that wrote no checksums. Throws Error if a file was changed.
bool check_sums(const std::string& folder, std::initializer_list<const char*> names) {
  const std::string sums = folder + "/" + kSums;
  std::error_code none;
  if (!fs::exists(sums, none)) return false;
  constexpr std::size_t kLongest = 4096;
  const std::string expected = read_file(sums, kLongest);
  for (const char* name : names)
    check(expected.find(sum_line(folder, name)) != std::string::npos, folder, "/", name,
          ": is damaged: its checksum is not that of ", sums,
          ": take a copy of the checkpoint, or start again");
  return true;
}

// Renames it first, so that a partly removed checkpoint is never read as one.
void remove_checkpoint(const fs::path& path) {
  const std::string trash = path.string() + std::string(kUnfinished);
  std::error_code ignored;
  fs::remove_all(trash, ignored);
  std::error_code error;
  fs::rename(path, trash, error);
  check(!error, path.string(), ": cannot be renamed: ", error.message());
  fs::remove_all(trash, ignored);  // the next run removes what remains
}

// Whether the lock is not another run's. A run that was killed may leave it for a moment to a child process,
// which has the descriptor until it executes its program. File systems without locks do not protect against
// two runs in one folder.
bool locked(int descriptor) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace

CheckpointFolder::CheckpointFolder(const std::string& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  check(!error && fs::is_directory(folder), folder,
        ": cannot be made: ", error ? error.message() : "it is no folder");
  lock_ = FileDescriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  check(lock_.get() >= 0, folder, ": cannot be opened: ", std::strerror(errno));
  check(locked(lock_.get()), folder, ": another run writes its checkpoints there");
  for (const fs::path& path : entries(folder))
    if (path.filename().string().starts_with(kPrefix) && path.extension() == kUnfinished)
      fs::remove_all(path, error);
  write_file(folder + "/.writable", "");  // fail now rather than after hours
  fs::remove(folder + "/.writable", error);
}

std::optional<int> CheckpointFolder::latest() const {
  return latest_epoch(folder_);
}

Checkpoint CheckpointFolder::load() const {
  std::optional<Checkpoint> checkpoint = read(folder_);
  check(checkpoint.has_value(), folder_, ": there is no checkpoint");
  return *std::move(checkpoint);
}

std::optional<int> CheckpointFolder::latest_in(const std::string& folder) {
  std::error_code none;
  return fs::is_directory(folder, none) ? latest_epoch(folder) : std::nullopt;
}

std::optional<Checkpoint> CheckpointFolder::read(const std::string& path) {
  const auto epoch = latest_in(path);
  if (!epoch) return std::nullopt;
  const std::string folder = folder_of(path, *epoch) + "/";
  Checkpoint out{*epoch, read_safetensors(folder + kWeights), read_safetensors(folder + kBest),
                 read_safetensors(folder + kState)};
  out.checked = check_sums(folder_of(path, *epoch), {kWeights, kBest, kState});
  return out;
}

void CheckpointFolder::save(const Checkpoint& checkpoint) {
  const auto last = latest();
  check(!last || *last <= checkpoint.epoch, folder_, ": has a checkpoint of epoch ", last.value_or(0),
        ", which is later than ", checkpoint.epoch);
  const std::string final_name = folder_of(folder_, checkpoint.epoch);
  const std::string partial = final_name + std::string(kUnfinished);
  std::error_code error;
  fs::remove_all(partial, error);
  fs::create_directory(partial, error);
  check(!error, partial, ": cannot be made: ", error.message());
  try {
    write_safetensors(partial + "/" + kWeights, checkpoint.weights);
    write_safetensors(partial + "/" + kBest, checkpoint.best);
    write_safetensors(partial + "/" + kState, checkpoint.state);
    write_file(partial + "/" + kSums,
               sum_line(partial, kWeights) + sum_line(partial, kBest) + sum_line(partial, kState));
  } catch (const Error&) {
    fs::remove_all(partial, error);
    throw;
  }
  // A checkpoint of the same epoch is exchanged in one step; the old one then has the temporary name.
  const bool again = last == checkpoint.epoch;
  const bool renamed =
      ::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final_name.c_str(), again ? RENAME_EXCHANGE : 0) == 0;
  check(renamed, partial, ": cannot be renamed: ", std::strerror(errno));
  sync_folder(folder_);
  fs::remove_all(partial, error);
  for (const fs::path& path : entries(folder_))
    if (const auto epoch = epoch_of(path); epoch && *epoch != checkpoint.epoch) remove_checkpoint(path);
}

std::string find_weights(const std::string& path) {
  std::error_code none;
  if (!fs::is_directory(path, none)) return path;
  const auto epoch = latest_epoch(path);
  check(epoch.has_value(), path, ": there is no checkpoint");
  check_sums(folder_of(path, *epoch), {kBest});
  return folder_of(path, *epoch) + "/" + kBest;
}

SafeTensors read_weights(const std::string& file) {
  SafeTensors weights = read_safetensors(file);
  if (!weights.tensors.empty()) return weights;
  const fs::path path = file, last = path.parent_path() / kWeights;
  std::error_code none;
  check(path.filename() != kBest || !fs::exists(last, none), file,
        ": there is no best epoch yet: the checkpoint was written before the first evaluation. --resume the "
        "training, or give --weights ",
        last.string(), ", the weights after its last step");
  fail(file, ": has no tensors");
}

}  // namespace rodeo
