#include "core/comm/child_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "core/comm/rank_environment.h"
#include "core/error.h"

extern char** environ;

namespace rodeo::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsAfterSignal = 0.5, kSecondsAfterExit = 5;
constexpr std::size_t kMostErrorBytes = 1 << 16;  // the last bytes of a rank's stderr, which are kept

/// The signals of a launcher, blocked and read from a file while the object exists.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    file_ = FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  const sigset_t& before() const { return before_; }
  int file() const { return file_.get(); }
  bool read(signalfd_siginfo& info) const {
    return ::read(file_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
  }

 private:
  sigset_t before_;
  FileDescriptor file_;
};

struct Process {
  pid_t id = -1;
  bool running = false;
  int status = 0;         // from waitpid()
  FileDescriptor errors;  // reader of its stderr; none: that of this process
  std::string stderr_text;
};

int exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_of(const ChildRank& child) {
  std::vector<std::string> texts;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    bool replaced = text.rfind("RODEO_LISTEN_FILE=", 0) == 0;
    for (const auto& [name, value] : child.environment) replaced |= text.rfind(name + "=", 0) == 0;
    if (!replaced) texts.push_back(text);
  }
  for (const auto& [name, value] : child.environment) texts.push_back(str(name, "=", value));
  return texts;
}

/// In the child: async-signal-safe calls only. `failure` is closed by a successful exec.
[[noreturn]] void become(char* const* argv, char* const* environment, const ChildRank& child, int errors,
                         const sigset_t& mask, pid_t parent, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kEndedByOther);
  for (const int file : child.inherited) ::fcntl(file, F_SETFD, 0);
  if (errors >= 0) {
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    if (nothing > STDERR_FILENO) ::close(nothing);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(argv[0], argv, environment);
  const int code = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure, &code, sizeof(code));
  ::_exit(127);
}

class Launcher {
 public:
  Launcher(const std::vector<std::string>& command, const std::vector<ChildRank>& children, int report)
      : processes_(children.size()), report_(report) {
    std::vector<std::string> arguments = command;
    const std::vector<char*> argv = pointers(arguments);
    for (std::size_t rank = 0; rank < children.size(); ++rank) start(argv, children[rank], rank);
  }

  int run() {
    while (any_running()) {
      wait_for_events();
      read_signals();
      for (Process& process : processes_) read_errors(process);
      reap();
      if (failed_ >= 0 && Clock::now() >= deadline_) kill_all(SIGKILL);
    }
    for (Process& process : processes_) read_errors(process);
    report();
    return result();
  }

 private:
  void start(const std::vector<char*>& argv, const ChildRank& child, std::size_t rank) {
    Process& process = processes_[rank];
    std::vector<std::string> texts = environment_of(child);
    const std::vector<char*> environment = pointers(texts);
    Pipe errors, failure;
    const pid_t parent = ::getpid();
    process.id = ::fork();
    if (process.id == 0)
      become(argv.data(), environment.data(), child, rank == 0 ? -1 : errors.writer.get(), signals_.before(),
             parent, failure.writer.get());
    int code = process.id < 0 ? errno : 0;
    failure.writer.close();
    if (process.id > 0) {
      pollfd ready = {failure.reader.get(), POLLIN, 0};  // until exec closes the pipe, or says why not
      while (::poll(&ready, 1, -1) < 0 && errno == EINTR) {
      }
      if (::read(failure.reader.get(), &code, sizeof(code)) != sizeof(code)) code = 0;
    }
    if (code != 0) {
      if (process.id > 0) ::waitpid(process.id, nullptr, 0);
      kill_all(SIGKILL);
      for (Process& started : processes_)
        if (started.running) ::waitpid(started.id, nullptr, 0);
      fail("[launch_ranks] cannot start ", argv[0], " as rank ", rank, ": ", std::strerror(code));
    }
    process.running = true;
    if (rank > 0) process.errors = std::move(errors.reader);
  }

  bool any_running() const {
    for (const Process& process : processes_)
      if (process.running) return true;
    return false;
  }

  void kill_all(int signal) const {
    for (const Process& process : processes_)
      if (process.running) ::kill(process.id, signal);
  }

  void wait_for_events() const {
    std::vector<pollfd> files = {{signals_.file(), POLLIN, 0}};
    for (const Process& process : processes_)
      if (process.errors.get() >= 0) files.push_back({process.errors.get(), POLLIN, 0});
    ::poll(files.data(), files.size(), failed_ >= 0 ? 50 : 1000);
  }

  void read_signals() {
    signalfd_siginfo info;
    while (signals_.read(info)) {
      if (info.ssi_signo == SIGCHLD) continue;
      interrupted_ = true;
      // The terminal has sent it to the ranks, too: they are in the same process group.
      if (info.ssi_code != SI_KERNEL) kill_all(static_cast<int>(info.ssi_signo));
    }
  }

  static void read_errors(Process& process) {
    char block[4096];
    while (process.errors.get() >= 0) {
      const ssize_t got = ::read(process.errors.get(), block, sizeof(block));
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) process.errors.close();
      if (got <= 0) return;
      process.stderr_text.append(block, static_cast<std::size_t>(got));
      if (process.stderr_text.size() > 2 * kMostErrorBytes)
        process.stderr_text.erase(0, process.stderr_text.size() - kMostErrorBytes);
    }
  }

  void reap() {
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      Process& process = processes_[rank];
      if (!process.running || ::waitpid(process.id, &process.status, WNOHANG) != process.id) continue;
      process.running = false;
      const int code = exit_code(process.status);
      const bool stopped =
          interrupted_ && (code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP);
      if (code == 0 || code == kEndedByOther || stopped) {
        if (stopped && stopped_code_ == 0) stopped_code_ = code;
        continue;
      }
      if (failed_ >= 0) {
        if (Clock::now() < deadline_) also_failed_.push_back(rank);
        continue;
      }
      failed_ = static_cast<int>(rank);
      const double grace = WIFSIGNALED(process.status) ? kSecondsAfterSignal : kSecondsAfterExit;
      deadline_ =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(grace));
    }
  }

  int result() const {
    if (failed_ >= 0) return exit_code(processes_[static_cast<std::size_t>(failed_)].status);
    if (stopped_code_ != 0) return stopped_code_;
    for (const Process& process : processes_)
      if (exit_code(process.status) != 0) return 1;
    return 0;
  }

  /// Prints what failed ranks said, and names the first one unless a rank has reported the error.
  void report() const {
    if (failed_ < 0) return;
    const auto print = [&](std::size_t rank) {
      const std::string& text = processes_[rank].stderr_text;
      std::fwrite(text.data(), 1, text.size(), stderr);
    };
    const auto failed = static_cast<std::size_t>(failed_);
    print(failed);
    for (const std::size_t rank : also_failed_) print(rank);
    pollfd claim = {report_, POLLIN, 0};
    if (::poll(&claim, 1, 0) == 0) return;  // the byte is gone: a rank has spoken
    const int status = processes_[failed].status;
    const std::string how = WIFSIGNALED(status) ? str("was killed by signal ", WTERMSIG(status), " (",
                                                      ::strsignal(WTERMSIG(status)), ")")
                                                : str("ended with exit code ", WEXITSTATUS(status));
    std::fprintf(stderr, "error: rank %d of %zu %s%s\n", failed_, processes_.size(), how.c_str(),
                 processes_.size() > 1 ? ", which ended the others" : "");
  }

  Signals signals_;
  std::vector<Process> processes_;
  int report_;
  bool interrupted_ = false;
  int stopped_code_ = 0;                  // exit code of the first rank that a signal to this process stopped
  int failed_ = -1;                       // the rank that failed first
  std::vector<std::size_t> also_failed_;  // by themselves, before they were ended
  Clock::time_point deadline_;
};

}  // namespace

Pipe::Pipe() {
  int files[2];
  const bool made = ::pipe2(files, O_CLOEXEC) == 0;
  check(made, "[launch_ranks] cannot make a pipe: ", std::strerror(errno));
  reader = FileDescriptor(files[0]);
  writer = FileDescriptor(files[1]);
  ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
}

int run_children(const std::vector<std::string>& command, const std::vector<ChildRank>& children,
                 int report) {
  return Launcher(command, children, report).run();
}

}  // namespace rodeo::comm
