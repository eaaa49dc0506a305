#include "core/comm/mesh.h"

#include <algorithm>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/quoting.h"

namespace rodeo::comm {
namespace {

constexpr std::uint64_t kMagic = 0x31306f65646f52ull;  // "Rodeo01"
enum Purpose : std::int32_t { kNotes, kData };

/// The first bytes of each connection, by the side that connects.
struct Hello {
  std::uint64_t magic = kMagic, key = 0;
  std::int32_t rank = 0, size = 0, purpose = kNotes;
  std::int32_t port = 0;  // where the rank listens
};
/// What rank 0 answers at once where the ranks meet: another run may listen on the same port.
struct Greeting {
  std::uint64_t magic = kMagic, key = 0;
};

std::uint64_t hash(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

class Join {
 public:
  Join(const Launch& launch, double timeout)
      : launch_(launch),
        rank_(launch.rank),
        size_(launch.size),
        key_(hash(launch.meeting.key)),
        timeout_(timeout),
        deadline_(Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout))),
        endpoints_(static_cast<std::size_t>(size_)) {
    mesh_.data.resize(endpoints_.size());
    mesh_.notes.resize(endpoints_.size());
  }

  Mesh run() {
    const std::uint32_t meeting = resolve(launch_.meeting.host);
    // A host may know its own name under a loopback address, so only these texts mean a run on one host.
    const std::string& host = launch_.meeting.host;
    const bool loopback = host == "localhost" || host.rfind("127.", 0) == 0;
    if (rank_ == 0) {
      listener_ = listen_at_meeting(loopback);
      receive_hellos();
      for (int r = 1; r < size_; ++r)
        if (!write_all(mesh_.notes[at(r)], endpoints_.data(), table_bytes(), deadline_))
          give_up(missing({r}));
    } else {
      listener_ = listen_on(0, loopback);
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
  Hello hello(Purpose purpose) const { return {kMagic, key_, rank_, size_, purpose, port_of(listener_)}; }
  std::string place() const { return str(printable(launch_.meeting.host), ":", launch_.meeting.port); }

  [[noreturn]] void give_up(const std::string& what) const {
    fail("[communicator] ", what, ". Ranks meet at ", place(), ", set by ",
         launch_.launcher == "rodeo" ? "the launcher" : "MASTER_ADDR and MASTER_PORT or the launcher");
  }
  static std::string missing(const std::vector<int>& ranks) {
    std::string list;
    for (const int r : ranks) list += str(list.empty() ? "" : ", ", r);
    return str("rank", ranks.size() > 1 ? "s " : " ", list);
  }

  File listen_at_meeting(bool loopback) const {
    const Meeting& meeting = launch_.meeting;
    if (meeting.listen_file >= 0) {
      if (!is_listening(meeting.listen_file))
        give_up(
            str("the launcher's socket, file ", meeting.listen_file,
                ", was closed by a program between the launcher and rank 0: start rank 0 directly, or keep "
                "files open (in Python: close_fds=False)"));
      return File(meeting.listen_file);
    }
    for (int i = 0; i < meeting.num_ports; ++i) {
      File file = listen_on(meeting.port + i, loopback);
      if (file.get() >= 0) return file;
    }
    fail("[communicator] rank 0 cannot listen: ports ", meeting.port, " to ",
         meeting.port + meeting.num_ports - 1, " are in use. Set MASTER_PORT to a free one on all ranks");
  }

  /// Accepts a connection of this run and reads its Hello. No descriptor: it was of others.
  File accept_hello(Hello& got, Endpoint& peer, bool greets) {
    File file = accept_from(listener_, deadline_, peer);
    if (file.get() < 0) return file;
    const Clock::time_point soon = std::min(deadline_, Clock::now() + std::chrono::seconds(2));
    const Greeting greeting{kMagic, ~key_};
    if (greets && !write_all(file, &greeting, sizeof(greeting), soon)) return {};
    if (!read_all(file, &got, sizeof(got), soon) || got.magic != kMagic || got.key != key_) return {};
    check(got.size == size_ && got.rank > 0 && got.rank < size_, "[communicator] rank ", rank_, " of ", size_,
          " was joined by a process that is rank ", got.rank, " of ", got.size);
    return file;
  }

  /// Rank 0: every other rank tells where it listens.
  void receive_hellos() {
    for (int left = size_ - 1; left > 0;) {
      Hello got;
      Endpoint peer;
      File file = accept_hello(got, peer, true);
      if (file.get() < 0) {
        if (Clock::now() >= deadline_)
          give_up(str(absent(mesh_.notes, 1), " of ", size_, " did not join in ", timeout_, " s"));
        continue;
      }
      File& notes = mesh_.notes[at(got.rank)];
      check(notes.get() < 0, "[communicator] two processes are rank ", got.rank, " of ", size_);
      notes = std::move(file);
      endpoints_[at(got.rank)] = {peer.address, static_cast<std::uint16_t>(got.port)};
      --left;
    }
  }

  std::string absent(const std::vector<File>& files, int first) const {
    std::vector<int> ranks;
    for (int r = first; r < size_; ++r)
      if (r != rank_ && files[at(r)].get() < 0) ranks.push_back(r);
    return missing(ranks);
  }

  /// Other ranks: connects to rank 0, and gets the table of all endpoints.
  void meet(std::uint32_t address) {
    const Meeting& meeting = launch_.meeting;
    for (int attempt = 0;; ++attempt) {
      const auto port = static_cast<std::uint16_t>(meeting.port + attempt % meeting.num_ports);
      if (Clock::now() >= deadline_)
        give_up(str("rank ", rank_, " did not reach rank 0 in ", timeout_, " s"));
      if (attempt > 0 && port == meeting.port) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      File file = connect_to({address, port}, deadline_);
      if (file.get() < 0) continue;
      Greeting greeting;
      const Clock::time_point soon =
          meeting.num_ports == 1 ? deadline_ : std::min(deadline_, Clock::now() + std::chrono::seconds(2));
      if (!read_all(file, &greeting, sizeof(greeting), soon) || greeting.magic != kMagic ||
          greeting.key != ~key_)
        continue;  // another run
      const Hello own = hello(kNotes);
      if (!write_all(file, &own, sizeof(own), deadline_)) continue;
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

  File link(int r, Purpose purpose) {
    File file = connect_to(endpoints_[at(r)], deadline_);
    const Hello own = hello(purpose);
    Greeting greeting;
    const bool ok = file.get() >= 0 && (r > 0 || read_all(file, &greeting, sizeof(greeting), deadline_)) &&
                    write_all(file, &own, sizeof(own), deadline_);
    if (!ok) give_up(str("rank ", rank_, " cannot connect to rank ", r));
    return file;
  }

  void accept_links() {
    int left = size_ - 1 - rank_;
    if (rank_ > 0) left *= 2;
    while (left > 0) {
      Hello got;
      Endpoint peer;
      File file = accept_hello(got, peer, rank_ == 0);
      if (file.get() < 0) {
        if (Clock::now() < deadline_) continue;
        give_up(
            str(absent(mesh_.data, rank_ + 1), " did not connect to rank ", rank_, " in ", timeout_, " s"));
      }
      File& place = (got.purpose == kData ? mesh_.data : mesh_.notes)[at(got.rank)];
      check(place.get() < 0 && got.rank > rank_, "[communicator] two processes are rank ", got.rank, " of ",
            size_);
      place = std::move(file);
      --left;
    }
  }

  const Launch& launch_;
  int rank_, size_;
  std::uint64_t key_;
  double timeout_;
  Clock::time_point deadline_;
  std::vector<Endpoint> endpoints_;  // where each rank listens
  File listener_;
  Mesh mesh_;
};

}  // namespace

Mesh join_ranks(const Launch& launch, double timeout_seconds) {
  return Join(launch, timeout_seconds).run();
}

}  // namespace rodeo::comm
