#include "core/output_path.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace rodeo {
namespace {

namespace fs = std::filesystem;

fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;  // of Linux
  std::error_code none;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, none); ++i) {
    const fs::path next = fs::read_symlink(path, none);
    if (none) break;
    // A link of /proc/self/fd to a pipe has no path behind it.
    if (const fs::path whole = path.parent_path() / next; !fs::exists(path, none) || fs::exists(whole, none))
      path = whole;
    else
      break;
  }
  return path;
}

/// Whether a file is there that is not regular.
bool is_special(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none) && !fs::is_regular_file(path, none);
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (fs::equivalent(a, b, none)) return true;
  return fs::weakly_canonical(follow_links(a), none) == fs::weakly_canonical(follow_links(b), none);
}

bool is_running(pid_t process) {
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

/// Writers hold a lock on their partial file, also those in other containers, whose processes are not seen.
bool is_locked(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.get() < 0 || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;
}

void remove_left_behind(const std::string& target) {
  const fs::path path(target);
  const std::string start = path.filename().string() + ".part";
  std::error_code none;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(path.has_parent_path() ? path.parent_path() : ".",
                              fs::directory_options::skip_permission_denied, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(start) || !entry.is_regular_file(none)) continue;
    pid_t process = 0;
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + start.size(), end, process);
    if (error != std::errc() || at != end || process <= 0) continue;
    if ((process == ::getpid() || !is_running(process)) && !is_locked(entry.path()))
      fs::remove(entry.path(), none);
  }
}

}  // namespace

void check_outputs(const std::vector<NamedPath>& outputs, const std::vector<NamedPath>& inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, path] = outputs[i];
    if (path.empty() || is_special(path)) continue;
    for (const NamedPath& input : inputs)
      check(input.path.empty() || !same_file(path, input.path), option, " ", path, ": is also ", input.option,
            ", which is read: name another file");
    for (std::size_t j = 0; j < i; ++j)
      check(outputs[j].path.empty() || !same_file(path, outputs[j].path), option, " ", path, ": is also ",
            outputs[j].option, ", which is written: name another file");
  }
}

void check_suffix(const NamedPath& file, std::initializer_list<std::string_view> suffixes) {
  if (file.path.empty() || is_special(file.path)) return;
  const std::string suffix = fs::path(file.path).extension().string();
  if (std::find(suffixes.begin(), suffixes.end(), suffix) != suffixes.end()) return;
  std::string list;
  for (const std::string_view& known : suffixes)
    if (!known.empty()) list += str(list.empty() ? "" : &known + 1 == suffixes.end() ? " or " : ", ", known);
  fail(file.option, " ", file.path, ": ",
       suffix.empty() ? "has no suffix" : str("unknown suffix '", suffix, "'"), ": expected ", list);
}

OutputPath output_path(const std::string& path) {
  check(!path.empty(), "a file needs a name");
  const fs::path target = follow_links(path);
  std::error_code none;
  check(!fs::is_directory(target, none), path, ": is a directory");
  check(!fs::is_block_file(target, none), path, ": is a disk, not a file");
  if (is_special(target)) return {target.string(), ""};
  remove_left_behind(target.string());
  return {target.string(), str(target.string(), ".part", ::getpid())};
}

}  // namespace rodeo
