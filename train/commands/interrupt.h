/// Ctrl-C, SIGTERM and SIGHUP.
#pragma once

namespace rodeo {

/// RAII signal handler. The first SIGINT, SIGTERM or SIGHUP is recorded and announced on stderr; the second
/// ends the process at once with exit code 128 + signal. One that the launcher of a rank passes on is not the
/// second of one that others sent. Signals that were ignored before (nohup) stay
/// ignored. After SIGHUP nothing more is written to a terminal, which is gone. Only one object may exist at a
/// time.
class StopOnSignal {
 public:
  /// `unit`: what the announcement says is completed, "epoch" or "batch"; static lifetime.
  explicit StopOnSignal(const char* unit = "epoch");
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  /// The recorded signal; 0: none.
  int signal() const;
};

}  // namespace rodeo
