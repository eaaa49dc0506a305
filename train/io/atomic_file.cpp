#include "train/io/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/output_path.h"

namespace rodeo {
namespace {

namespace fs = std::filesystem;

std::string reason() {
  return std::strerror(errno);
}

fs::path folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  const OutputPath output = output_path(path);
  target_ = output.target;
  partial_ = output.partial;
  std::error_code none;
  check(fs::is_directory(folder_of(target_), none), path, ": cannot be written: no such folder");
  file_ = partial_.empty()
              ? ::open(target_.c_str(), O_WRONLY | O_CLOEXEC)
              : ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  check(file_ >= 0, path, ": cannot be written: ", reason());
  if (!partial_.empty()) ::flock(file_, LOCK_EX | LOCK_NB);  // other processes see that it is in use
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    check(written > 0, path_, ": writing failed: ", reason());
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  check(file_ >= 0, path_, ": is committed already");
  // fsync fails on pipes and terminals, which do not need it.
  const bool synced = ::fsync(file_) == 0 || partial_.empty();
  const std::string why = synced ? "" : reason();
  const bool closed = ::close(file_) == 0;
  file_ = -1;
  check(synced, path_, ": writing failed: ", why);
  check(closed, path_, ": writing failed: ", reason());
  if (partial_.empty()) return;
  const bool renamed = ::rename(partial_.c_str(), target_.c_str()) == 0;
  check(renamed, path_, ": cannot be written: ", reason());
  partial_.clear();
  sync_folder(folder_of(target_).string());
}

void append_record(int file, const std::string& path, std::string_view record) {
  const ssize_t written = ::write(file, record.data(), record.size());
  check(written == static_cast<ssize_t>(record.size()), path,
        ": writing failed: ", written < 0 ? reason() : kNoRoom);
}

void write_file(const std::string& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

void sync_folder(const std::string& folder) {
  const FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  check(file.get() >= 0, folder, ": cannot be opened: ", reason());
  // Some file systems cannot sync a folder and return EINVAL.
  const bool synced = ::fsync(file.get()) == 0 || errno == EINVAL;
  check(synced, folder, ": cannot be synchronised: ", reason());
}

std::string read_file(const std::string& path, std::size_t limit) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  check(file.get() >= 0, path, ": cannot be read: ", reason());
  std::string contents;
  char block[1 << 16];
  ssize_t got = 0;
  while ((got = ::read(file.get(), block, sizeof block)) != 0 && contents.size() <= limit) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    contents.append(block, static_cast<std::size_t>(got));
  }
  check(got >= 0, path, ": cannot be read: ", reason());
  check(contents.size() <= limit, path, ": has more than ", limit, " bytes");
  return contents;
}

}  // namespace rodeo
