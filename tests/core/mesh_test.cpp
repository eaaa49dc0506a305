// Ranks that join while others on the host, or in the network, get in their way. The ranks are threads.
#include "core/comm/mesh.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "core/comm/keyed_hash.h"
#include "core/error.h"

namespace rodeo::comm {
namespace {

constexpr int kRanks = 3;

Clock::time_point in(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Rank 0 listens already, so that strangers come first. A host that is not named as loopback: TCP.
struct MeetingRun {
  explicit MeetingRun(bool local) : listener(listen_on(0, local)) {
    meeting = {local ? "127.0.0.1" : "0x7f.1", port_of(listener), 1, "key", ::dup(listener.get())};
    address = {local ? Endpoint::kThisHost : resolve("127.0.0.1"), static_cast<std::uint32_t>(meeting.port)};
  }
  FileDescriptor stranger() const { return connect_to(address, in(1)); }

  /// What each rank says when all have joined, or not: the sum of what it hears from the others.
  std::vector<std::string> join(double timeout) {
    std::vector<std::string> said(kRanks);
    std::vector<std::thread> ranks;
    for (int r = 0; r < kRanks; ++r)
      ranks.emplace_back([&, r] {
        Launch launch{"rodeo", r, kRanks};
        launch.meeting = meeting;
        try {
          const Mesh mesh = join_ranks(launch, timeout);
          int sum = 0;
          for (const std::vector<FileDescriptor>* files : {&mesh.data, &mesh.notes})
            for (int p = 0; p < kRanks; ++p)
              if (p != r) write_all((*files)[static_cast<std::size_t>(p)], &r, sizeof(r), in(1));
          for (const std::vector<FileDescriptor>* files : {&mesh.data, &mesh.notes})
            for (int p = 0; p < kRanks; ++p)
              if (int got = 0;
                  p != r && read_all((*files)[static_cast<std::size_t>(p)], &got, sizeof(got), in(1)))
                sum += got == p ? 1 << p : 100;
          said[static_cast<std::size_t>(r)] = str("hears ", sum);
        } catch (const Error& error) {
          said[static_cast<std::size_t>(r)] = error.what();
        }
      });
    for (std::thread& rank : ranks) rank.join();
    return said;
  }
  static std::vector<std::string> all_joined() { return {"hears 12", "hears 10", "hears 6"}; }

  FileDescriptor listener;
  Meeting meeting;
  Endpoint address;
};

class CoreMesh : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, CoreMesh, testing::Bool(),
                         [](const auto& info) { return info.param ? "local" : "tcp"; });

TEST_P(CoreMesh, SilenceAndNonsenseDelayNobody) {
  MeetingRun run(GetParam());
  std::vector<FileDescriptor> strangers;
  const auto say = [&](const std::string& text) {
    strangers.push_back(run.stranger());
    ASSERT_GE(strangers.back().get(), 0);
    write_all(strangers.back(), text.data(), text.size(), in(1));
  };
  for (int i = 0; i < 40; ++i) say("");  // once 2 s each
  for (const std::size_t bytes : {1, 31, 32, 33, 100'000}) {
    say(std::string(bytes, '\xff'));
    say(std::string(bytes, '\0'));
  }
  const std::string magic = "Rodeo02";  // then a wrong key, and sizes beyond all bounds
  say(magic);
  say(magic + std::string(17, '\x7f') + std::string(100, '\xff'));
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(run.join(10), MeetingRun::all_joined());
  EXPECT_LT(seconds_since(start), 1.5);
}

/// All bytes that come, until a pause.
std::string hear(const FileDescriptor& file) {
  std::string all;
  for (char byte = 0; read_all(file, &byte, 1, in(0.4));) all += byte;
  return all;
}

// A stranger who knows all but the key passes on the words of a rank, as it has heard them before.
TEST(CoreMeshTcp, WhatARankHasSaidIsNoTicket) {
  const MeetingRun run(false), trap(false);
  std::string said[2];
  const auto rank = [](int number, const MeetingRun& at, std::string& error) {
    return std::thread([&, number] {
      Launch launch{"rodeo", number, 2};
      launch.meeting = at.meeting;
      try {
        join_ranks(launch, 3);
      } catch (const Error& caught) {
        error = caught.what();
      }
    });
  };
  std::thread first = rank(0, run, said[0]), second = rank(1, trap, said[1]);
  const FileDescriptor once = run.stranger();
  const std::string challenge = hear(once);
  Endpoint from;
  FileDescriptor victim;
  while (victim.get() < 0) victim = accept_from(trap.listener, from);
  write_all(victim, challenge.data(), challenge.size(), in(1));
  const std::string answer = hear(victim);
  ASSERT_GT(answer.size(), 30u);
  const std::uint64_t no_proof = 7;  // that the one at the meeting place knows the key
  write_all(victim, &no_proof, sizeof(no_proof), in(1));
  const FileDescriptor again = run.stranger();
  EXPECT_NE(hear(again), challenge);
  write_all(again, answer.data(), answer.size(), in(1));
  EXPECT_EQ(hear(again), "");
  first.join();
  second.join();
  EXPECT_NE(said[0].find("rank 1 of 2 did not join"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("did not reach rank 0"), std::string::npos) << said[1];
}

// Vectors of the paper, and of its reference code.
TEST(CoreKeyedHash, IsSipHash) {
  const HashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  unsigned char bytes[15];
  for (unsigned char i = 0; i < 15; ++i) bytes[i] = i;
  EXPECT_EQ(keyed_hash(key, bytes, 15), 0xa129ca6149be45e5u);
  EXPECT_EQ(keyed_hash(key, bytes, 0), 0x726fdb47dd0e0e31u);
}

// What one run has heard is no ticket to another one.
TEST_P(CoreMesh, AnotherRunIsNotJoined) {
  MeetingRun first(GetParam()), second(GetParam());
  second.meeting.key = "another";
  std::vector<std::string> said;
  first.meeting.port = second.meeting.port;  // its ranks 1 and 2 go to the wrong place
  std::thread other([&] { said = second.join(10); });
  for (const std::string& text : first.join(0.5)) EXPECT_NE(text.find("did not"), std::string::npos) << text;
  other.join();
  EXPECT_EQ(said, MeetingRun::all_joined());
}

// Needs root, to become another user.
TEST(CoreMeshLocal, OtherUsersAreTurnedAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root";
  MeetingRun run(true);
  const FileDescriptor theirs = listen_on(0, true);
  // Starts work(ready) as another user; goes on when it has written to `ready`.
  const auto as_stranger = [](const auto& work) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::setuid(65534) == 0 ? work(ready[1]) : 99);
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    return child;
  };
  const auto ends_with = [](pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  // Rank 0 tells it nothing. It comes before the ranks: rank 0 hears nobody once all have joined.
  const pid_t guest = as_stranger([&](int ready) {
    const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_storage place = {};
    socklen_t length = sizeof(place);
    ::getsockname(run.listener.get(), reinterpret_cast<sockaddr*>(&place), &length);
    if (::connect(file, reinterpret_cast<sockaddr*>(&place), length) != 0) return 1;
    if (::write(ready, "r", 1) != 1) return 2;
    char byte = 0;
    return ::recv(file, &byte, 1, 0) == 0 ? 0 : 3;
  });
  EXPECT_EQ(run.join(10), MeetingRun::all_joined());
  EXPECT_EQ(ends_with(guest), 0);
  // A rank tells nothing to a stranger that listens in its place.
  const pid_t host = as_stranger([&](int ready) {
    const FileDescriptor listener = listen_on(0x20000 + ::getppid(), true);
    if (::write(ready, "r", 1) != 1) return 1;
    ::usleep(200'000);
    return 0;
  });
  EXPECT_LT(connect_to({Endpoint::kThisHost, static_cast<std::uint32_t>(0x20000 + ::getpid())}, in(1)).get(),
            0);
  EXPECT_EQ(ends_with(host), 0);
}

}  // namespace
}  // namespace rodeo::comm
