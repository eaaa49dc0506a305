#include "train/commands/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <iterator>

#include "core/launch_ranks.h"

namespace rodeo {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before[std::size(kSignals)];
volatile sig_atomic_t recorded = 0;
const char* volatile stops_after = "epoch";
bool on_terminal[STDERR_FILENO + 1];  // known before it is gone

// `timeout` sends a signal to the group and to the process: it arrives twice.
constexpr double kOnceSeconds = 0.3;

/// The signals of one kind of sender. A launcher passes on what `kill -INT -GROUP` has sent to its ranks,
/// too, and on a busy host long after it: so each kind has a count of its own.
struct Sender {
  int count = 0;
  struct timespec last;
} launcher, others;
pid_t launcher_id = 0;  // 0: none

double seconds_since(const struct timespec& begin) {
  struct timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec - begin.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec - begin.tv_nsec);
}

template <std::size_t n>
void say(int file, const char (&text)[n]) {
  // A signal handler cannot report a failure.
  [[maybe_unused]] const ssize_t written = ::write(file, text, n - 1);
}

// Async-signal-safe calls only.
extern "C" void on_signal(int signal, siginfo_t* info, void*) {
  if (signal == SIGHUP) {
    const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (const int file : {STDOUT_FILENO, STDERR_FILENO})
      if (on_terminal[file] && nothing >= 0) ::dup2(nothing, file);
  }
  Sender& sender = launcher_id != 0 && info->si_pid == launcher_id ? launcher : others;
  if (sender.count > 0 && seconds_since(sender.last) < kOnceSeconds) return;
  ::clock_gettime(CLOCK_MONOTONIC, &sender.last);
  if (++sender.count > 1) {
    if (::isatty(STDOUT_FILENO)) say(STDOUT_FILENO, "\x1b[?7h\x1b[0m\n");  // undoes the line mode of Console
    ::_exit(128 + signal);
  }
  if (recorded != 0) return;
  recorded = signal;
  // One write, whose text cannot be cut by another process.
  constexpr char kBefore[] = "\nstopping after this ", kAfter[] = "; interrupt again to stop at once\n";
  char text[96];
  std::size_t size = 0;
  const auto add = [&](const char* part) {
    while (*part != '\0' && size < sizeof text) text[size++] = *part++;
  };
  add(kBefore), add(stops_after), add(kAfter);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, size);
}

}  // namespace

StopOnSignal::StopOnSignal(const char* unit) {
  recorded = 0;
  launcher = others = {};
  launcher_id = started_as_rank() ? ::getppid() : 0;
  stops_after = unit;
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) on_terminal[file] = ::isatty(file) == 1;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

int StopOnSignal::signal() const {
  return recorded;
}

}  // namespace rodeo
