/// Ctrl-C.
#pragma once

namespace rodeo {

/// While one lives, the first SIGINT or SIGTERM is only noted, with a line on stderr; the second ends the
/// process at once, with exit code 128 + its number. A signal that was ignored before (nohup) still is. One
/// at a time.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  /// The signal that was noted; 0: none.
  int signal() const;
};

}  // namespace rodeo
