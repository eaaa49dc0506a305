#include "core/host/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/device.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

constexpr std::int64_t kGiB = 1 << 30;
constexpr MemoryRoom kMachine = {40 * kGiB, 64 * kGiB};

/// A machine's /proc and /sys.
class CoreControlGroups : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::string file = dir_ / path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  void expect_room(std::int64_t free, std::int64_t total) {
    const MemoryRoom room = within_control_groups(kMachine, dir_ / "");
    EXPECT_EQ(room.free, free);
    EXPECT_EQ(room.total, total);
  }
  test::TempDir dir_;
};

TEST_F(CoreControlGroups, WithoutFilesThereIsNoLimit) {
  expect_room(40 * kGiB, 64 * kGiB);
  write("proc/self/cgroup", "0::/job\nnonsense\n4:memory\n:\n");
  expect_room(40 * kGiB, 64 * kGiB);
}

TEST_F(CoreControlGroups, Version2LeavesLimitLessUse) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", str(8 * kGiB));
  write("sys/fs/cgroup/memory.current", str(5 * kGiB));
  expect_room(3 * kGiB, 8 * kGiB);
  write("sys/fs/cgroup/memory.stat", str("anon 7\ninactive_file ", kGiB, "\nactive_file 9\n"));
  expect_room(4 * kGiB, 8 * kGiB);
  write("sys/fs/cgroup/memory.current", str(9 * kGiB + kGiB));  // a limit that was lowered
  expect_room(0, 8 * kGiB);
  write("sys/fs/cgroup/memory.max", "max\n");
  expect_room(40 * kGiB, 64 * kGiB);
}

TEST_F(CoreControlGroups, TheLeastOfAllGroupsAboveCounts) {
  write("proc/self/cgroup", "0::/slice/job\n");
  write("sys/fs/cgroup/slice/memory.max", str(6 * kGiB));
  write("sys/fs/cgroup/slice/memory.current", str(2 * kGiB));
  write("sys/fs/cgroup/slice/job/memory.max", "max\n");
  write("sys/fs/cgroup/slice/job/memory.current", str(kGiB));
  expect_room(4 * kGiB, 6 * kGiB);
  write("sys/fs/cgroup/slice/job/memory.max", str(3 * kGiB));
  expect_room(2 * kGiB, 3 * kGiB);
  write("sys/fs/cgroup/slice/job/memory.max", str(100 * kGiB));  // more than there is
  expect_room(4 * kGiB, 6 * kGiB);
}

TEST_F(CoreControlGroups, Version1HasItsOwnNames) {
  write("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/docker/0123\n1:cpuset:/x\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", str(8 * kGiB));  // the container's own, as its root
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", str(6 * kGiB));
  write("sys/fs/cgroup/memory/memory.stat", str("inactive_file 5\ntotal_inactive_file ", kGiB, "\n"));
  expect_room(3 * kGiB, 8 * kGiB);
  write("sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", str(2 * kGiB));
  write("sys/fs/cgroup/memory/docker/0123/memory.usage_in_bytes", str(kGiB));
  expect_room(kGiB, 2 * kGiB);
  write("sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", "9223372036854771712");
  expect_room(3 * kGiB, 8 * kGiB);
}

TEST_F(CoreControlGroups, ProcessorsAreTheQuotaRoundedUp) {
  const auto processors = [&] { return processors_of_control_groups(dir_ / ""); };
  EXPECT_EQ(processors(), 0);
  write("proc/self/cgroup", "0::/slice/job\n");
  write("sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  EXPECT_EQ(processors(), 0);
  write("sys/fs/cgroup/slice/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(processors(), 2);
  write("sys/fs/cgroup/slice/cpu.max", "50000 100000\n");  // the group above allows less
  EXPECT_EQ(processors(), 1);
  write("proc/self/cgroup", "4:cpu,cpuacct:/docker/0123\n3:memory:/\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(), 0);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");  // the container's own, as its root
  EXPECT_EQ(processors(), 4);
}

// What is asked of the machine goes through it.
TEST(CoreMemoryRoom, IsThatOfTheMachineAndItsGroups) {
  const MemoryRoom room = memory_room(kCpu);
  EXPECT_GT(room.free, 0);
  EXPECT_LE(room.free, room.total);
  EXPECT_LE(room.total, within_control_groups({INT64_MAX, INT64_MAX}).total);
}

}  // namespace
}  // namespace rodeo
