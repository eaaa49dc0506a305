/// Waits of the host for the device, which can be watched: another rank may be the reason that they do not
/// end.
#pragma once

struct CUstream_st;
struct CUevent_st;

namespace rodeo::cuda {

/// Called about every 10 ms while the host waits, with the seconds since the wait began, and with -1 after a
/// wait in which it was called. May throw Error, which ends the wait.
using WaitObserver = void (*)(double seconds);

/// For all threads. Null: the waits block, as they do without several ranks.
void set_wait_observer(WaitObserver observer) noexcept;

/// Wait for all work of the stream, or for the event. Throw Error, "[cuda] WHAT: ...", if the work failed.
void wait_for(CUstream_st* stream, const char* what);
void wait_for(CUevent_st* event, const char* what);

}  // namespace rodeo::cuda
