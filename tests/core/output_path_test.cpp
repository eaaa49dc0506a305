#include "core/output_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

struct CoreOutputPath : testing::Test {
  CoreOutputPath() {
    for (const char* name : {"d.h5", "w"}) std::ofstream(dir / name) << name;
    fs::create_symlink("d.h5", dir / "link");
    fs::create_symlink("later", dir / "dangling");
    fs::create_directory(dir / "folder");
    ::mkfifo((dir / "fifo").c_str(), 0600);
  }
  TempDir dir;
};

TEST_F(CoreOutputPath, InputsAndOtherOutputsAreRefused) {
  const auto check = [&](const std::string& out, const std::string& other, const std::string& in) {
    check_outputs({{"--csv", other}, {"--out", out}}, {{"--dataset", in}});
  };
  const std::string input = ": is also --dataset, which is read: name another file";
  const std::string output = ": is also --csv, which is written: name another file";
  for (const char* name : {"d.h5", "./d.h5", "link", "folder/../d.h5"}) {
    EXPECT_ERROR(check(dir / name, "", dir / "d.h5"), "--out " + dir / name + input);
    EXPECT_ERROR(check(dir / name, dir / "d.h5", dir / "w"), "--out " + dir / name + output);
  }
  EXPECT_ERROR(check(dir / "later", dir / "dangling", ""), "--out " + dir / "later" + output);
  EXPECT_ERROR(check(dir / "a", dir / "folder/../a", ""), "--out " + dir / "a" + output);
  check(dir / "a", dir / "b", dir / "d.h5");
  check("", "", "");
  check("/dev/null", "/dev/null", dir / "d.h5");
}

TEST_F(CoreOutputPath, SuffixesAreThoseOfTheKind) {
  const auto check = [](const std::string& path) { check_suffix({"--out", path}, {".h5", ".hdf5", ".csv"}); };
  for (const char* path : {"a.h5", "a.b/c.csv", "/dev/null", ""}) check(path);
  EXPECT_ERROR(check("a.H5"), "--out a.H5: unknown suffix '.H5': expected .h5, .hdf5 or .csv");
  EXPECT_NO_THROW(check_suffix({"--log", "a.h5/run"}, {"", ".log"}));
  EXPECT_ERROR(check_suffix({"--log", "run.h5"}, {"", ".log", ".txt"}),
               "--log run.h5: unknown suffix '.h5': expected .log or .txt");
  EXPECT_ERROR(check("a.h5/b"), "--out a.h5/b: has no suffix: expected .h5, .hdf5 or .csv");
}

TEST_F(CoreOutputPath, LinksAreFollowed) {
  const std::string own = ".part" + std::to_string(::getpid());
  for (const auto& [name, target] :
       {std::pair{"w", "w"}, {"link", "d.h5"}, {"dangling", "later"}, {"new", "new"}}) {
    EXPECT_EQ(output_path(dir / name).target, dir / target);
    EXPECT_EQ(output_path(dir / name).partial, dir / target + own);
  }
  EXPECT_EQ(output_path(dir / "fifo").partial, "");
  EXPECT_ERROR(output_path(dir / "folder"), dir / "folder: is a directory");
  EXPECT_ERROR(output_path(""), "a file needs a name");
}

// A node of the first RAM disk, which nothing here opens. Making it needs root and a kernel that allows it.
TEST_F(CoreOutputPath, DisksAreRefused) {
  if (::mknod((dir / "disk").c_str(), S_IFBLK | 0600, makedev(1, 0)) != 0)
    GTEST_SKIP() << "cannot make a device node";
  EXPECT_ERROR(output_path(dir / "disk"), dir / "disk: is a disk, not a file");
}

TEST_F(CoreOutputPath, PartialFilesOfDeadProcessesGo) {
  constexpr const char* kNobody = "2147483646";  // above the largest process id of Linux
  for (const std::string name : {"w.part", "x.part", "w.part2147483646x"})
    std::ofstream(dir / name + (name.ends_with("x") ? "" : kNobody)) << "half";
  std::ofstream(dir / "w.part1") << "of a living process";
  std::ofstream(dir / "w.part2147483645") << "in use elsewhere";
  const int locked = ::open((dir / "w.part2147483645").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(locked, LOCK_EX), 0);
  const std::string own = dir / "w.part" + std::to_string(::getpid());  // in another container, too
  std::ofstream(own) << "half";
  const int held = ::open(own.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  output_path(dir / "w");
  EXPECT_TRUE(fs::exists(own));
  ::close(held);
  output_path(dir / "w");
  EXPECT_FALSE(fs::exists(own));
  ::close(locked);
  EXPECT_FALSE(fs::exists(dir / "w.part" + kNobody));
  for (const char* kept : {"w", "w.part1", "w.part2147483646x", "w.part2147483645"})
    EXPECT_TRUE(fs::exists(dir / kept)) << kept;
  EXPECT_TRUE(fs::exists(dir / "x.part" + kNobody));
}

}  // namespace
}  // namespace rodeo
