#include "train/io/event_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using test::TempDir;

// RFC 3720, appendix B.4.
TEST(TrainEventFile, ChecksumIsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

/// A reader of its own: bit by bit where the writer has a table.
std::uint32_t slow_masked_crc(const std::string& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <class T>
T take(std::string& bytes) {
  T value{};
  check(bytes.size() >= sizeof value, "the file ends within a record");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.erase(0, sizeof value);
  return value;
}

std::vector<std::string> records(std::string file) {
  std::vector<std::string> all;
  while (!file.empty()) {
    const std::string length_bytes = file.substr(0, 8);
    const auto length = take<std::uint64_t>(file);
    EXPECT_EQ(take<std::uint32_t>(file), slow_masked_crc(length_bytes));
    check(file.size() >= length, "the file ends within a record");
    all.push_back(file.substr(0, length));
    file.erase(0, length);
    EXPECT_EQ(take<std::uint32_t>(file), slow_masked_crc(all.back()));
  }
  return all;
}

TEST(TrainEventFile, RecordsAreFramed) {
  const TempDir dir;
  std::string path;
  {
    EventFile file(dir / "new/run");
    path = file.path();
    file.scalars(7, {{"loss/train", 0.5}, {"accuracy/val", -2}});
    file.scalars(300, {{"loss/train", 0.25}});
  }
  const auto all = records(read_file(path, 10000));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_NE(all[0].find("\x1a\x0d"
                        "brain.Event:2"),
            std::string::npos);
  // wall time, then step 7, then a summary of 2 values.
  EXPECT_EQ(all[1][0], '\x09');
  EXPECT_EQ(all[1].substr(9), std::string("\x10\x07\x2a\x28\x0a\x11\x0a\x0aloss/train\x15\0\0\0\x3f"
                                          "\x0a\x13\x0a\x0c"
                                          "accuracy/val\x15\0\0\0\xc0",
                                          44));
  EXPECT_EQ(all[2].substr(9, 3), "\x10\xac\x02");
}

TEST(TrainEventFile, TwoRunsInOneFolderHaveTwoFiles) {
  const TempDir dir;
  const EventFile first(dir / ""), second(dir / "");
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(dir.size(), 2u);
}

TEST(TrainEventFile, FoldersThatCannotBeAreErrors) {
  const TempDir dir;
  write_file(dir / "file", "");
  EXPECT_ERROR(EventFile(dir / "file"), dir / "file" + ": cannot be made: Not a directory");
  EXPECT_ERROR(EventFile(dir / "file/x"), dir / "file/x" + ": cannot be made: Not a directory");
}

TEST(TrainEventFile, OpensInTensorBoard) {
  if (std::system("python3 -c 'import tensorboard' 2>/dev/null") != 0)
    GTEST_SKIP() << "no Python with TensorBoard";
  const TempDir dir;
  {
    EventFile file(dir / "run");
    for (int step = 1; step <= 300; ++step) file.scalars(step, {{"loss/train", 1.0 / step}, {"b", step}});
    file.text("config", "epochs 300");
  }
  const std::string script = dir / "read.py";
  std::ofstream(script)
      << "import sys\nfrom tensorboard.backend.event_processing import event_accumulator as ea\n"
         "a = ea.EventAccumulator(sys.argv[1], size_guidance={'scalars': 0}); a.Reload()\n"
         "assert sorted(a.Tags()['scalars']) == ['b', 'loss/train'], a.Tags()\n"
         "s = a.Scalars('loss/train'); assert [e.step for e in s] == list(range(1, 301))\n"
         "assert all(abs(e.value - 1 / e.step) < 1e-7 for e in s) and s[0].wall_time > 1e9\n"
         "assert a.Tensors('config')[0].tensor_proto.string_val[0] == b'epochs 300'\n";
  EXPECT_EQ(std::system(("python3 " + script + " " + dir / "run" + " 2>/dev/null").c_str()), 0);
}

}  // namespace
}  // namespace rodeo
