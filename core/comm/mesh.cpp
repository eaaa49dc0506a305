#include "core/comm/mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>

#include "core/comm/keyed_hash.h"
#include "core/error.h"
#include "core/quoting.h"
#include "core/text.h"

namespace rodeo::comm {
namespace {

constexpr std::uint64_t kMagic = 0x33306f65646f52ull;  // "Rodeo03"
enum Purpose : std::int32_t { kNotes, kData };

/// What a rank says to each connection at once, to whomever. A challenge is answered once, by the key.
struct Greeting {
  std::uint64_t magic = kMagic, challenge = random_bits();
};
/// The answer of the side that connects, and its own challenge.
struct Hello {
  std::uint64_t magic = kMagic, challenge = random_bits();
  std::int32_t rank = 0, size = 0, purpose = kNotes;
  std::int32_t port = 0;  // where the rank listens
  std::uint64_t proof = 0;
};

/// The proof of a Hello: it depends on all that it says, and on the challenge.
std::uint64_t proof_of(HashKey key, Hello hello, const Greeting& greeting) {
  hello.proof = greeting.challenge;
  return keyed_hash(key, &hello, sizeof(hello));
}
/// What the rank that was connected to proves then.
std::uint64_t counterproof_of(HashKey key, const Hello& hello, const Greeting& greeting) {
  const std::uint64_t both[] = {hello.challenge, greeting.challenge};
  return keyed_hash(key, both, sizeof(both));
}

/// Connections that have not said yet which rank they are. Strangers may be silent or talk nonsense: they
/// delay nobody.
class Arrivals {
 public:
  Arrivals(const FileDescriptor& listener, HashKey key) : listener_(listener), key_(key) {}

  /// The next connection that belongs to this run. No descriptor: none came until `deadline`.
  FileDescriptor next(Hello& hello, Endpoint& peer, Clock::time_point deadline) {
    do {
      std::vector<pollfd> files = {{listener_.get(), POLLIN, 0}};
      for (const Guest& guest : guests_) files.push_back({guest.file.get(), POLLIN, 0});
      ::poll(files.data(), files.size(), 20);
      for (std::size_t i = 0; i < guests_.size(); ++i) {
        Guest& guest = guests_[i];
        if (files[i + 1].revents == 0 || !listen_to(guest)) continue;
        hello = guest.hello;
        peer = guest.peer;
        return std::move(guest.file);
      }
      if (files[0].revents != 0) welcome();
      std::erase_if(guests_, [](const Guest& guest) { return guest.file.get() < 0; });
    } while (Clock::now() < deadline);
    return {};
  }

 private:
  struct Guest {
    FileDescriptor file;
    Endpoint peer;
    Greeting greeting = {};
    Hello hello = {};
    std::size_t heard = 0;  // bytes of it
  };

  void welcome() {
    Guest guest;
    errno = 0;
    guest.file = accept_from(listener_, guest.peer);
    const bool full = guest.file.get() < 0 && (errno == EMFILE || errno == ENFILE);
    constexpr std::size_t kMost = 2048;  // all ranks and as many strangers
    if (!guests_.empty() && (full || guests_.size() >= kMost)) guests_.erase(guests_.begin());
    if (guest.file.get() >= 0 && write_all(guest.file, &guest.greeting, sizeof(guest.greeting), Clock::now()))
      guests_.push_back(std::move(guest));
  }

  /// Whether the guest has said all, and is of this run. Others are sent away.
  bool listen_to(Guest& guest) const {
    auto* const bytes = reinterpret_cast<char*>(&guest.hello);
    const ssize_t got =
        ::recv(guest.file.get(), bytes + guest.heard, sizeof(Hello) - guest.heard, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    guest.heard += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    if (got > 0 && guest.heard < sizeof(Hello)) return false;
    if (got > 0 && guest.hello.magic == kMagic &&
        guest.hello.proof == proof_of(key_, guest.hello, guest.greeting)) {
      const std::uint64_t own = counterproof_of(key_, guest.hello, guest.greeting);
      if (write_all(guest.file, &own, sizeof(own), Clock::now())) return true;
    }
    guest.file.close();
    return false;
  }

  const FileDescriptor& listener_;
  HashKey key_;
  std::vector<Guest> guests_;
};

class Join {
 public:
  Join(const Launch& launch, double timeout)
      : launch_(launch),
        rank_(launch.rank),
        size_(launch.size),
        key_(key_of(launch.meeting.key)),
        timeout_(timeout),
        deadline_(Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout))),
        endpoints_(static_cast<std::size_t>(size_)),
        arrivals_(listener_, key_) {
    mesh_.data.resize(endpoints_.size());
    mesh_.notes.resize(endpoints_.size());
  }

  Mesh run() {
    // A host may know its own name under a loopback address, so only these texts mean a run on one host.
    const std::string& host = launch_.meeting.host;
    const bool local = host == "localhost" || host.rfind("127.", 0) == 0;
    const std::uint32_t meeting = local ? Endpoint::kThisHost : resolve(host);
    if (rank_ == 0) {
      listener_ = listen_at_meeting(local);
      receive_hellos();
      for (int r = 1; r < size_; ++r)
        if (!write_all(mesh_.notes[at(r)], endpoints_.data(), table_bytes(), deadline_))
          give_up(missing({r}));
    } else {
      listener_ = listen_on(0, local);
      meet(meeting);
    }
    for (int r = 0; r < rank_; ++r) {
      mesh_.data[at(r)] = link(r, kData);
      if (r > 0) mesh_.notes[at(r)] = link(r, kNotes);
    }
    accept_links();
    return std::move(mesh_);
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  std::size_t table_bytes() const { return endpoints_.size() * sizeof(Endpoint); }

  /// Whether the rank at the other end is of this run, and has heard that this one is, until `deadline`.
  bool introduce(const FileDescriptor& file, Purpose purpose, Clock::time_point deadline) const {
    Greeting greeting;
    if (!read_all(file, &greeting, sizeof(greeting), deadline) || greeting.magic != kMagic) return false;
    Hello hello{.rank = rank_, .size = size_, .purpose = purpose, .port = port_of(listener_)};
    hello.proof = proof_of(key_, hello, greeting);
    std::uint64_t proof = 0;
    return write_all(file, &hello, sizeof(hello), deadline) &&
           read_all(file, &proof, sizeof(proof), deadline) && proof == counterproof_of(key_, hello, greeting);
  }
  std::string place() const { return str(printable(launch_.meeting.host), ":", launch_.meeting.port); }

  [[noreturn]] void give_up(const std::string& what) const {
    fail("[communicator] ", what, ". Ranks meet at ", place(), ", set by ",
         launch_.launcher == "rodeo" ? "the launcher" : "MASTER_ADDR and MASTER_PORT or the launcher");
  }
  static std::string missing(const std::vector<int>& ranks) {
    return str("rank", ranks.size() > 1 ? "s " : " ", join(ranks));
  }

  FileDescriptor listen_at_meeting(bool local) const {
    const Meeting& meeting = launch_.meeting;
    if (meeting.listen_file >= 0) {
      if (!is_listening(meeting.listen_file))
        give_up(
            str("the launcher's socket, file ", meeting.listen_file,
                ", was closed by a program between the launcher and rank 0: start rank 0 directly, or keep "
                "files open (in Python: close_fds=False)"));
      return FileDescriptor(meeting.listen_file);
    }
    for (int i = 0; i < meeting.num_ports; ++i) {
      FileDescriptor file = listen_on(meeting.port + i, local);
      if (file.get() >= 0) return file;
    }
    fail("[communicator] rank 0 cannot listen: ports ", meeting.port, " to ",
         meeting.port + meeting.num_ports - 1, " are in use. Set MASTER_PORT to a free one on all ranks");
  }

  /// Accepts a connection of this run and reads its Hello. No descriptor: none came in time.
  FileDescriptor accept_hello(Hello& got, Endpoint& peer) {
    FileDescriptor file = arrivals_.next(got, peer, deadline_);
    check(file.get() < 0 || (got.size == size_ && got.rank > 0 && got.rank < size_), "[communicator] rank ",
          rank_, " of ", size_, " was joined by a process that is rank ", got.rank, " of ", got.size);
    return file;
  }

  /// Rank 0: every other rank tells where it listens.
  void receive_hellos() {
    for (int left = size_ - 1; left > 0;) {
      Hello got;
      Endpoint peer;
      FileDescriptor file = accept_hello(got, peer);
      if (file.get() < 0)
        give_up(str(absent(mesh_.notes, 1), " of ", size_, " did not join in ", timeout_, " s"));
      FileDescriptor& notes = mesh_.notes[at(got.rank)];
      check(notes.get() < 0, "[communicator] two processes are rank ", got.rank, " of ", size_);
      notes = std::move(file);
      endpoints_[at(got.rank)] = {peer.address, static_cast<std::uint32_t>(got.port)};
      --left;
    }
  }

  std::string absent(const std::vector<FileDescriptor>& files, int first) const {
    std::vector<int> ranks;
    for (int r = first; r < size_; ++r)
      if (r != rank_ && files[at(r)].get() < 0) ranks.push_back(r);
    return missing(ranks);
  }

  /// Other ranks: connects to rank 0, and gets the table of all endpoints.
  void meet(std::uint32_t address) {
    const Meeting& meeting = launch_.meeting;
    for (int attempt = 0;; ++attempt) {
      const auto port = static_cast<std::uint32_t>(meeting.port + attempt % meeting.num_ports);
      if (Clock::now() >= deadline_)
        give_up(str("rank ", rank_, " did not reach rank 0 in ", timeout_, " s"));
      if (attempt > 0 && attempt % meeting.num_ports == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      FileDescriptor file = connect_to({address, port}, deadline_);
      if (file.get() < 0) continue;
      const Clock::time_point soon =
          meeting.num_ports == 1 ? deadline_ : std::min(deadline_, Clock::now() + std::chrono::seconds(2));
      if (!introduce(file, kNotes, soon)) continue;  // another run
      if (!read_all(file, endpoints_.data(), table_bytes(), deadline_))
        give_up(str("rank 0 of ", size_, " has met rank ", rank_,
                    ", but ended or is late: not all ranks joined"));
      mesh_.notes[0] = std::move(file);
      endpoints_[0] = {address, port};
      // Ranks on the host of rank 0 are seen there under the loopback address.
      for (Endpoint& endpoint : endpoints_)
        if (endpoint.is_loopback()) endpoint.address = address;
      return;
    }
  }

  FileDescriptor link(int r, Purpose purpose) {
    FileDescriptor file = connect_to(endpoints_[at(r)], deadline_);
    if (file.get() < 0 || !introduce(file, purpose, deadline_))
      give_up(str("rank ", rank_, " cannot connect to rank ", r));
    return file;
  }

  void accept_links() {
    int left = size_ - 1 - rank_;
    if (rank_ > 0) left *= 2;
    while (left > 0) {
      Hello got;
      Endpoint peer;
      FileDescriptor file = accept_hello(got, peer);
      if (file.get() < 0)
        give_up(
            str(absent(mesh_.data, rank_ + 1), " did not connect to rank ", rank_, " in ", timeout_, " s"));
      FileDescriptor& place = (got.purpose == kData ? mesh_.data : mesh_.notes)[at(got.rank)];
      check(place.get() < 0 && got.rank > rank_, "[communicator] two processes are rank ", got.rank, " of ",
            size_);
      place = std::move(file);
      --left;
    }
  }

  const Launch& launch_;
  int rank_, size_;
  HashKey key_;
  double timeout_;
  Clock::time_point deadline_;
  std::vector<Endpoint> endpoints_;  // where each rank listens
  FileDescriptor listener_;
  Arrivals arrivals_;
  Mesh mesh_;
};

}  // namespace

Mesh join_ranks(const Launch& launch, double timeout_seconds) {
  return Join(launch, timeout_seconds).run();
}

}  // namespace rodeo::comm
