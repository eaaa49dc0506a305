#include "core/comm/mpi_transport.h"

// The C functions alone: the C++ bindings of old versions would need another library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/comm/peer_watch.h"

namespace rodeo::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kDataTag = 1, kExitTag = 2,
              kNoteTag = 3;  // messages of one pair of ranks and tag arrive in order

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void check_mpi(int code, std::string_view op) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("[", op, "] MPI: ", text);
}

/// The process's part in MPI, from the first communicator to the end of the process.
struct Session {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  bool finalize = false;  // MPI was initialised here
  std::string failure;    // why no call can succeed any more
  bool told_wait = false;
  Clock::time_point crowded = {};  // when sched_yield() last took long
  std::vector<PeerState> peers;
  std::vector<Tensor> kept;  // memory that late messages of a failed call may use

  static Session& get();
};

/// Runs at exit. Tells the others, and waits until they exit too: MPI_Finalize() needs all of them. After a
/// failure the process ends without it, by which the launcher knows that it has to end the others.
void leave() {
  Session& session = Session::get();
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized || !session.failure.empty()) return;
  std::vector<MPI_Request> requests;
  for (int p = 0; p < session.size; ++p) {
    if (p == session.rank) continue;
    MPI_Irecv(nullptr, 0, MPI_BYTE, p, kExitTag, session.comm, &requests.emplace_back());
    MPI_Isend(nullptr, 0, MPI_BYTE, p, kExitTag, session.comm, &requests.emplace_back());
  }
  for (int done = 0; !done; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE) !=
        MPI_SUCCESS)
      return;
  if (session.finalize) MPI_Finalize();
}

Session& Session::get() {
  static Session& session = *[] {
    auto* made = new Session;  // never destroyed: leave() runs at exit
    int initialized = 0, level = 0;
    MPI_Initialized(&initialized);
    if (!initialized) {
      // Open MPI yields in each poll where ranks are more than cores. Pending does that where it is needed.
      ::setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
      check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "communicator");
    }
    MPI_Query_thread(&level);
    check(level >= MPI_THREAD_SERIALIZED,
          "[communicator] MPI must be initialised with MPI_THREAD_SERIALIZED");
    made->finalize = !initialized;
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &made->comm), "communicator");
    check_mpi(MPI_Comm_set_errhandler(made->comm, MPI_ERRORS_RETURN), "communicator");
    check_mpi(MPI_Comm_rank(made->comm, &made->rank), "communicator");
    check_mpi(MPI_Comm_size(made->comm, &made->size), "communicator");
    made->peers.resize(static_cast<std::size_t>(made->size));
    std::atexit(leave);
    return made;
  }();
  return session;
}

/// The messages of one exchange that are under way.
class Pending {
 public:
  Pending(Session& session, std::string_view op, double timeout)
      : session_(session), op_(op), timeout_(timeout) {}

  template <class Start>
  void add(const Message& message, std::int64_t piece, const Start& start) {
    for (std::int64_t begin = 0; begin < message.bytes; begin += piece) {
      const int count = static_cast<int>(std::min(piece, message.bytes - begin));
      requests_.push_back(MPI_REQUEST_NULL);
      peers_.push_back(message.peer);
      check_code(start(message.data + begin, count, MPI_BYTE, message.peer, kDataTag, session_.comm,
                       &requests_.back()));
    }
  }

  void wait() {
    std::vector<int> indices(requests_.size());
    std::size_t left = requests_.size();
    progress_ = Clock::now();
    for (int idle = 0; left > 0; ++idle) {
      int done = 0;
      check_code(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, indices.data(),
                              MPI_STATUSES_IGNORE));
      if (done > 0) {
        left -= static_cast<std::size_t>(done);
        progress_ = Clock::now();
        idle = 0;
      } else if (idle > kSpins) {
        const bool late = seconds_since(progress_) > kSecondsOfYielding;
        give_way(late);
        if (late && idle % 32 == 0) check_peers();
      }
    }
  }

 private:
  static constexpr int kSpins = 200;
  static constexpr double kSecondsOfYielding = 0.1, kSecondsForLateMessages = 1;
  static constexpr double kLongYield = 1e-3, kSecondsOfCrowd = 1;

  /// MPI moves data in this thread alone. It sleeps only where messages are late, or where other processes
  /// want this processor: sched_yield() returns after the time slices of all of them.
  void give_way(bool late) {
    if (late || seconds_since(session_.crowded) < kSecondsOfCrowd) {
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    } else {
      const Clock::time_point start = Clock::now();
      sched_yield();
      if (seconds_since(start) > kLongYield) session_.crowded = Clock::now();
    }
  }

  void check_code(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    give_up(str("MPI: ", text));
  }

  /// A rank whose messages are awaited must not have exited, and one of them must send within the time.
  void check_peers() {
    const double waited = seconds_since(progress_);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      int exited = 0;
      check_code(MPI_Iprobe(peers_[i], kExitTag, session_.comm, &exited, MPI_STATUS_IGNORE));
      // The last messages of a rank that has exited may still be on their way.
      if (exited && waited > kSecondsForLateMessages)
        give_up(str("rank ", peers_[i], " has exited, and rank ", session_.rank, " waits for it"));
      if (waited > timeout_)
        give_up(str("rank ", session_.rank, " got no message from rank ", peers_[i], " in ", timeout_,
                    " s: it hangs or is late. CommunicatorOptions::timeout_seconds sets the limit"));
    }
  }

  [[noreturn]] void give_up(const std::string& reason) {
    session_.failure = reason;
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
    fail("[", op_, "] ", reason);
  }

  Session& session_;
  std::string_view op_;
  double timeout_;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;  // the rank of each request
  Clock::time_point progress_;
};

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const CommunicatorOptions& options) : session_(Session::get()), options_(options) {}

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return session_.rank; }
  int size() const override { return session_.size; }

  void exchange(std::string_view op, const std::vector<Message>& receives, const std::vector<Message>& sends,
                const std::vector<Tensor>& operands) override {
    check(session_.failure.empty(), "[", op,
          "] the communicator is not usable, an earlier call failed: ", session_.failure);
    Pending pending(session_, op, options_.timeout_seconds);
    try {
      for (const Message& message : receives) pending.add(message, options_.max_message_bytes, MPI_Irecv);
      for (const Message& message : sends) pending.add(message, options_.max_message_bytes, MPI_Isend);
      pending.wait();
    } catch (...) {
      session_.kept.insert(session_.kept.end(), operands.begin(), operands.end());
      throw;
    }
  }

  bool usable() const override { return session_.failure.empty(); }

  void watch(double waited) override {
    constexpr double kSecondsBeforeTelling = 0.5;
    const bool waits = waited > kSecondsBeforeTelling;
    if (waits != session_.told_wait) tell(waits);
    session_.told_wait = waits;
    if (waited < 0) return;
    read_notes();
    const std::string vain =
        why_waiting_is_vain(session_.rank, session_.peers, waited, options_.timeout_seconds);
    if (vain.empty()) return;
    session_.failure = vain;
    fail("[communicator] ", vain);
  }

  void abort(int exit_code) override { MPI_Abort(session_.comm, exit_code); }

 private:
  void tell(bool waits) const {
    // Four bytes are sent at once; nobody has to wait for them.
    for (int p = 0; p < session_.size; ++p) {
      if (p == session_.rank) continue;
      static const std::int32_t kNotes[] = {0, 1};
      MPI_Request request = MPI_REQUEST_NULL;
      check_mpi(MPI_Isend(&kNotes[waits], 1, MPI_INT32_T, p, kNoteTag, session_.comm, &request),
                "communicator");
      check_mpi(MPI_Request_free(&request), "communicator");
    }
  }

  void read_notes() const {
    for (int p = 0; p < session_.size; ++p) {
      if (p == session_.rank) continue;
      PeerState& peer = session_.peers[static_cast<std::size_t>(p)];
      for (int found = 1; found;) {
        check_mpi(MPI_Iprobe(p, kNoteTag, session_.comm, &found, MPI_STATUS_IGNORE), "communicator");
        std::int32_t waits = 0;
        if (!found) break;
        check_mpi(MPI_Recv(&waits, 1, MPI_INT32_T, p, kNoteTag, session_.comm, MPI_STATUS_IGNORE),
                  "communicator");
        peer.waits = waits != 0;
      }
      int exited = 0;
      check_mpi(MPI_Iprobe(p, kExitTag, session_.comm, &exited, MPI_STATUS_IGNORE), "communicator");
      peer.left = exited != 0;
    }
  }

  Session& session_;
  CommunicatorOptions options_;
};

}  // namespace

bool built_with_mpi() {
  return true;
}

std::unique_ptr<Transport> make_mpi_transport(const Launch& launch, const CommunicatorOptions& options) {
  auto transport = std::make_unique<MpiTransport>(options);
  check(transport->rank() == launch.rank && transport->size() == launch.size, "[communicator] ",
        launch.launcher, " says rank ", launch.rank, " of ", launch.size, ", MPI says rank ",
        transport->rank(), " of ", transport->size(), ": the program needs the MPI library of its launcher");
  return transport;
}

}  // namespace rodeo::comm
