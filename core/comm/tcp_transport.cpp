#include "core/comm/tcp_transport.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/comm/mesh.h"
#include "core/comm/peer_watch.h"
#include "core/comm/rank_environment.h"

namespace rodeo::comm {
namespace {

enum Note : char { kAborts = 'a', kWaits = 'w', kGoesOn = 'g', kLives = 'l', kLeaves = 'x' };

/// The process's connections, from the first communicator to the end of the process.
struct Session {
  Launch launch;
  Mesh mesh;
  std::vector<PeerState> peers;
  std::vector<Clock::time_point> heard;  // when a peer last told anything
  std::string failure;                   // why no call can succeed any more
  bool told_wait = false;

  static std::optional<Session>& current();
  /// Guards the files of notes, which the thread of tell_life() reads too.
  static std::mutex& lock() {
    static auto& mutex = *new std::mutex;
    return mutex;
  }
  void tell(Note note) const {
    const std::lock_guard locked(lock());
    for (const FileDescriptor& file : mesh.notes)
      if (file.get() >= 0) [[maybe_unused]]
        const ssize_t sent = ::send(file.get(), &note, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void read_notes();
};

std::optional<Session>& Session::current() {
  static auto& session = *new std::optional<Session>;  // never destroyed: used at exit
  return session;
}

/// Reads what the other ranks tell. Does not return if one of them ends this process.
void Session::read_notes() {
  const std::lock_guard locked(lock());
  const Clock::time_point now = Clock::now();
  for (std::size_t r = 0; r < mesh.notes.size(); ++r) {
    char note = 0;
    ssize_t got = 0;
    while (mesh.notes[r].get() >= 0 && (got = ::recv(mesh.notes[r].get(), &note, 1, MSG_DONTWAIT)) == 1) {
      heard[r] = now;
      if (note == kAborts) std::_Exit(kEndedByOther);
      if (note == kWaits || note == kGoesOn) peers[r].waits = note == kWaits;
      if (note == kLeaves) peers[r].left = true;
    }
    peers[r].silent = mesh.notes[r].get() < 0 ? 0 : std::chrono::duration<double>(now - heard[r]).count();
    if (mesh.notes[r].get() < 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) continue;
    mesh.notes[r].close();
    peers[r].died = !peers[r].left;
  }
}

std::atomic<bool> left = false;

void leave() {
  left = true;
  Session::current()->tell(kLeaves);
}

/// Tells the others that this process lives, from a thread of its own: this one may compute or read for long.
void tell_life(double every) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the other threads
  std::thread([every] {
    while (!left) {
      Session::current()->tell(kLives);
      std::this_thread::sleep_for(std::chrono::duration<double>(every));
    }
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Session& join(const Launch& launch, const CommunicatorOptions& options) {
  std::optional<Session>& session = Session::current();
  if (!session) {
    Session joined;
    joined.launch = launch;
    joined.mesh = join_ranks(launch, options.timeout_seconds);
    joined.peers.resize(static_cast<std::size_t>(launch.size));
    joined.heard.assign(joined.peers.size(), Clock::now());
    session.emplace(std::move(joined));
    std::atexit(leave);
    constexpr int kTimes = 8;  // within the limit
    tell_life(options.silence_seconds / kTimes);
  }
  return *session;
}

/// The messages of one exchange with one rank in one direction, in order.
class Queue {
 public:
  void add(const Message& message) { messages_.push_back(message); }
  bool done() const { return next_ == messages_.size(); }

  /// Moves bytes while the socket takes or gives them. Returns how many; -1: the other side is gone.
  template <class Move>
  std::int64_t advance(std::int64_t piece, const Move& move) {
    std::int64_t total = 0;
    while (!done()) {
      const Message& message = messages_[next_];
      const auto left = static_cast<std::size_t>(std::min(piece, message.bytes - moved_));
      const ssize_t count = move(message.data + moved_, left);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return total;
      if (count <= 0) return -1;
      total += count;
      moved_ += count;
      if (moved_ == message.bytes) {
        ++next_;
        moved_ = 0;
      }
    }
    return total;
  }

 private:
  std::vector<Message> messages_;
  std::size_t next_ = 0;
  std::int64_t moved_ = 0;  // bytes of the next message
};

class Exchange {
 public:
  Exchange(Session& session, std::string_view op, const CommunicatorOptions& options)
      : session_(session),
        op_(op),
        options_(options),
        in_(session.peers.size()),
        out_(session.peers.size()) {}

  void run(const std::vector<Message>& receives, const std::vector<Message>& sends) {
    for (const Message& message : receives) in_[static_cast<std::size_t>(message.peer)].add(message);
    for (const Message& message : sends) out_[static_cast<std::size_t>(message.peer)].add(message);
    Clock::time_point progress = Clock::now();
    while (!done()) {
      if (advance()) {
        progress = Clock::now();
      } else {
        wait();
        session_.read_notes();
        const std::string silent = why_silent(awaited(), session_.peers[awaited()], options_.silence_seconds);
        if (!silent.empty()) give_up(silent);
        // One that leaves closes its connections, unless it hangs while it ends.
        if (session_.peers[awaited()].left && seconds_since(progress) > options_.silence_seconds)
          give_up(has_exited(awaited()));
        if (seconds_since(progress) > options_.timeout_seconds)
          give_up(str("rank ", session_.launch.rank, " got no message from rank ", awaited(), " in ",
                      options_.timeout_seconds,
                      " s: it hangs or is late. CommunicatorOptions::timeout_seconds sets the limit"));
      }
    }
  }

 private:
  bool done() const {
    const auto all_done = [](const std::vector<Queue>& queues) {
      return std::all_of(queues.begin(), queues.end(), [](const Queue& queue) { return queue.done(); });
    };
    return all_done(in_) && all_done(out_);
  }

  std::size_t awaited() const {
    for (const std::vector<Queue>* queues : {&in_, &out_})
      for (std::size_t r = 0; r < queues->size(); ++r)
        if (!(*queues)[r].done()) return r;
    return 0;
  }

  bool advance() {
    std::int64_t moved = 0;
    for (std::size_t r = 0; r < in_.size(); ++r) {
      const int file = session_.mesh.data[r].get();
      const std::int64_t got = in_[r].advance(
          options_.max_message_bytes,
          [&](std::byte* data, std::size_t bytes) { return ::recv(file, data, bytes, MSG_DONTWAIT); });
      if (got < 0) lose(r);
      const std::int64_t put =
          out_[r].advance(options_.max_message_bytes, [&](std::byte* data, std::size_t bytes) {
            return ::send(file, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
          });
      // A rank that needs no more of this one may have left; what it sent is still to be read.
      if (put < 0 && in_[r].done()) lose(r);
      moved += got + std::max<std::int64_t>(put, 0);
    }
    return moved > 0;
  }

  void wait() const {
    std::vector<pollfd> files;
    for (std::size_t r = 0; r < in_.size(); ++r) {
      const int events = (in_[r].done() ? 0 : POLLIN) | (out_[r].done() ? 0 : POLLOUT);
      if (events != 0) files.push_back({session_.mesh.data[r].get(), static_cast<short>(events), 0});
      if (session_.mesh.notes[r].get() >= 0) files.push_back({session_.mesh.notes[r].get(), POLLIN, 0});
    }
    ::poll(files.data(), files.size(), 50);
  }

  /// The connection to a rank is gone. One that failed says so, or is reported by the launcher, which then
  /// ends this process: give them the time, so that there is one message.
  [[noreturn]] void lose(std::size_t r) {
    const double patience = session_.launch.launcher == "rodeo" ? 8 : 1;
    const Clock::time_point start = Clock::now();
    for (session_.read_notes(); !session_.peers[r].left && seconds_since(start) < patience;
         session_.read_notes())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    give_up(has_exited(r));
  }
  std::string has_exited(std::size_t r) const {
    return str("rank ", r, " has exited, and rank ", session_.launch.rank, " waits for it");
  }

  [[noreturn]] void give_up(const std::string& reason) {
    session_.failure = reason;
    fail("[", op_, "] ", reason);
  }

  Session& session_;
  std::string_view op_;
  const CommunicatorOptions& options_;
  std::vector<Queue> in_, out_;  // one for each rank
};

class TcpTransport final : public Transport {
 public:
  TcpTransport(Session& session, const CommunicatorOptions& options) : session_(session), options_(options) {}

  std::string_view name() const override { return "tcp"; }
  int rank() const override { return session_.launch.rank; }
  int size() const override { return session_.launch.size; }

  void exchange(std::string_view op, const std::vector<Message>& receives, const std::vector<Message>& sends,
                const std::vector<Tensor>&) override {
    check(session_.failure.empty(), "[", op,
          "] the communicator is not usable, an earlier call failed: ", session_.failure);
    Exchange(session_, op, options_).run(receives, sends);
  }

  bool usable() const override { return session_.failure.empty(); }

  void watch(double waited) override {
    constexpr double kSecondsBeforeTelling = 0.5;
    const bool waits = waited > kSecondsBeforeTelling;
    if (waits != session_.told_wait) session_.tell(waits ? kWaits : kGoesOn);
    session_.told_wait = waits;
    session_.read_notes();
    if (waited < 0) return;
    std::string vain;
    for (std::size_t r = 0; vain.empty() && r < session_.peers.size(); ++r)
      vain = why_silent(r, session_.peers[r], options_.silence_seconds);
    if (vain.empty())
      vain = why_waiting_is_vain(session_.launch.rank, session_.peers, waited, options_.timeout_seconds);
    if (vain.empty()) return;
    session_.failure = vain;
    fail("[communicator] ", vain);
  }

  void abort(int) override { session_.tell(kAborts); }

 private:
  Session& session_;
  CommunicatorOptions options_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(const Launch& launch, const CommunicatorOptions& options) {
  return std::make_unique<TcpTransport>(join(launch, options), options);
}

void end_if_aborted() {
  if (Session::current()) Session::current()->read_notes();
}

}  // namespace rodeo::comm
