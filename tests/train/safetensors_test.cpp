#include "train/safetensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "core/random.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using test::TempDir;

constexpr DType kAll[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kF16,
                          DType::kI64, DType::kI32, DType::kU8};

/// A file with this header and so many bytes of values.
std::string with_header(const TempDir& dir, const std::string& header, std::size_t values = 0) {
  const std::string path = dir / "x.safetensors";
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header << std::string(values, '\1');
  return path;
}

/// The Error of reading that file, after its path.
std::string rejection(const std::string& header, std::size_t values = 0) {
  const TempDir dir;
  const std::string path = with_header(dir, header, values);
  return test::error_of([&] { read_safetensors(path); }).substr(path.size() + 2);
}

class TrainSafeTensors : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(TrainSafeTensors);

TEST_P(TrainSafeTensors, ComeBackWithTheSameBits) {
  const TempDir dir;
  SafeTensors written;
  written.metadata = {{"format", "pt"}, {"note", "line\n\"quoted\" \xc3\xa9"}};
  for (const DType dtype : kAll)
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{5, 7}, Shape{2, 0}, Shape{1, 2, 3, 4}})
      written.tensors.emplace_back(str(dtype, shape), test::random_tensor(shape, dtype, device()));
  write_safetensors(dir / "a.safetensors", written);
  const SafeTensors read = read_safetensors(dir / "a.safetensors");
  EXPECT_EQ(read.metadata, written.metadata);
  ASSERT_EQ(read.tensors.size(), written.tensors.size());
  for (std::size_t i = 0; i < read.tensors.size(); ++i) {
    EXPECT_EQ(read.tensors[i].first, written.tensors[i].first);
    EXPECT_EQ(read.tensors[i].second.device(), kCpu);
    EXPECT_TRUE(test::same_bits(read.tensors[i].second, written.tensors[i].second.to(kCpu)));
  }
  EXPECT_EQ(dir.size(), 1u);
}

TEST(TrainSafeTensorsFile, IsAsTheFormatSays) {
  const TempDir dir;
  write_safetensors(dir / "a", {.tensors = {{"b", Tensor::full({1}, 2, DType::kU8)},
                                            {"a", Tensor::full({2}, 1, DType::kF32)}},
                                .metadata = {}});
  const std::string file = read_file(dir / "a", 1000);
  const std::string header = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},)"
                             R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::size_t padded = (header.size() + 7) / 8 * 8;
  EXPECT_EQ(file[0], static_cast<char>(padded));
  EXPECT_EQ(file.substr(1, 7), std::string(7, '\0'));
  EXPECT_EQ(file.substr(8, header.size()), header);
  EXPECT_EQ(file.substr(8 + padded), std::string("\0\0\x80\x3f\0\0\x80\x3f\2", 9));
}

TEST(TrainSafeTensorsFile, BoolsAreBytes) {
  const TempDir dir;
  const std::string path = with_header(dir, R"({"m":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  const Tensor read = read_safetensors(path).tensors.at(0).second;
  EXPECT_EQ(read.dtype(), DType::kU8);
  EXPECT_EQ(read.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1}));
}

TEST(TrainSafeTensorsFile, EmptyOneIsRead) {
  const TempDir dir;
  write_safetensors(dir / "a", {});
  EXPECT_TRUE(read_safetensors(dir / "a").tensors.empty());
  EXPECT_TRUE(read_safetensors(with_header(dir, "{}")).tensors.empty());
}

TEST(TrainSafeTensorsFile, HostileOnesAreRejected) {
  EXPECT_EQ(
      rejection(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],)"
                R"("data_offsets":[0,8]}})",
                8),
      "has 'a' twice");
  EXPECT_EQ(
      rejection(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],)"
                R"("data_offsets":[4,12]}})",
                12),
      "tensor 'b' begins at byte 4, within another: expected 8");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12),
            "tensor 'a' begins at byte 4, after a gap: expected 0");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7),
            "is cut off: 8 bytes of values expected, got 7");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9),
            "has 1 bytes that belong to no tensor");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
            "tensor 'a' of F32 [3] does not take the 8 bytes that it has");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[4611686018427387903,4611686018427387903],)"
                      R"("data_offsets":[0,4]}})",
                      4),
            "tensor 'a': [shape] too many elements");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F64","shape":[4000000000000000000],"data_offsets":[0,0]}})"),
            "tensor 'a': [shape] too many elements");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
            "tensor 'a': shape must be whole numbers of at least 0, got -1");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4),
            "tensor 'a': shape must be whole numbers of at least 0, got 1.0");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
            "tensor 'a': data_offsets must be [begin, end] with begin <= end");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1),
            "tensor 'a' is of type F8_E4M3; Rodeo reads F64, F32, BF16, F16, I64, I32, U8 and BOOL");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1],"data_offsets":[0,1]}})", 1),
            "tensor 'a' has 5 dimensions, at most 4 are read");
  EXPECT_EQ(rejection(R"({"a":{"dtype":"F32","shape":[1]}})", 4),
            "tensor 'a' must have dtype, shape and data_offsets");
  EXPECT_EQ(rejection(R"({"__metadata__":{"a":1}})"), "__metadata__ must be texts by name, 'a' is none");
  EXPECT_EQ(rejection("[1]"), "is not a safetensors file: its header is no table of tensors");
  EXPECT_EQ(rejection("{\"a\""), "is not a safetensors file: its header is not JSON");
  EXPECT_EQ(rejection("{\"\xff\xfe\":1}"), "is not a safetensors file: its header is not JSON");
  EXPECT_EQ(rejection(std::string(1'000'000, '[')), "is not a safetensors file: its header is not JSON");
}

TEST(TrainSafeTensorsFile, LengthsThatLieAreRejected) {
  const TempDir dir;
  const std::string path = dir / "x";
  const auto rejected = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return test::error_of([&] { read_safetensors(path); }).substr(path.size() + 2);
  };
  EXPECT_EQ(rejected(""), "is not a safetensors file: shorter than 8 bytes");
  EXPECT_EQ(rejected("1234567"), "is not a safetensors file: shorter than 8 bytes");
  EXPECT_EQ(rejected(std::string(8, '\xff')),
            "is not a safetensors file: a header of 18446744073709551615 bytes");
  EXPECT_EQ(rejected(std::string("\x10\0\0\0\0\0\0\0{}", 10)), "is cut off in its header");
  EXPECT_ERROR(read_safetensors(dir / "none"), dir / "none" + ": cannot be read: No such file or directory");
  EXPECT_ERROR(read_safetensors(dir / ""), dir / "" + ": is a directory, not a safetensors file");
}

// Every file that is one byte off is read as a file, or gives an Error: never anything else.
TEST(TrainSafeTensorsFile, SurvivesEveryFlippedByteAndEveryCut) {
  const TempDir dir;
  const std::string path = dir / "x";
  write_safetensors(path, {.tensors = {{"w", test::random_tensor({2, 3}, DType::kF32, kCpu)},
                                       {"b", test::random_tensor({3}, DType::kF16, kCpu)}},
                           .metadata = {{"k", "v"}}});
  const std::string whole = read_file(path, 10000);
  int rejected = 0;
  const auto attempt = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      read_safetensors(path);
    } catch (const Error&) {
      ++rejected;
    }
  };
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int bit : {0, 5}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      attempt(damaged);
    }
  EXPECT_GT(rejected, 100);
  rejected = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) attempt(whole.substr(0, n));
  EXPECT_EQ(rejected, static_cast<int>(whole.size()));
}

TEST(TrainSafeTensorsFile, BadNamesAreNotWritten) {
  const TempDir dir;
  const Tensor x = Tensor::zeros({1});
  const std::string path = dir / "x";
  EXPECT_ERROR(write_safetensors(path, {.tensors = {{"a", x}, {"a", x}}, .metadata = {}}),
               path + ": a tensor cannot be named 'a', or is there twice");
  EXPECT_ERROR(write_safetensors(path, {.tensors = {{"a", {}}}, .metadata = {}}),
               path + ": tensor 'a' is undefined");
  EXPECT_ERROR(write_safetensors(path, {.tensors = {{"\xff", x}}, .metadata = {}}),
               path + ": names and descriptions must be UTF-8");
  EXPECT_EQ(dir.size(), 0u);
}

// The library that made the format reads ours.
TEST(TrainSafeTensorsFile, OpenInPython) {
  if (std::system("python3 -c 'import safetensors.numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "no Python with safetensors and numpy";
  const TempDir dir;
  write_safetensors(dir / "x", {.tensors = {{"w", Tensor::full({2, 3}, 1.5)},
                                            {"odd", Tensor::full({3}, 7, DType::kU8)},
                                            {"n", Tensor::full({}, 9, DType::kI64)}},
                                .metadata = {{"format", "pt"}}});
  const std::string script = dir / "read.py";
  std::ofstream(script) << "import sys\nfrom safetensors import safe_open\n"
                           "f = safe_open(sys.argv[1], 'np')\n"
                           "assert f.metadata() == {'format': 'pt'}\n"
                           "w = f.get_tensor('w'); assert w.shape == (2, 3) and (w == 1.5).all()\n"
                           "assert f.get_tensor('odd').tolist() == [7, 7, 7] and f.get_tensor('n') == 9\n";
  EXPECT_EQ(std::system(("python3 " + script + " " + dir / "x").c_str()), 0);
}

TEST(TrainAtomicFile, ReplacesOnCommitAlone) {
  const TempDir dir;
  const std::string path = dir / "a.txt";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path, 10), "old");
  }
  EXPECT_EQ(read_file(path, 10), "old");
  EXPECT_EQ(dir.size(), 1u);
  {
    AtomicFile file(path);
    file.write("ne");
    file.write("w");
    file.commit();
    EXPECT_ERROR(file.commit(), path + ": is committed already");
  }
  EXPECT_EQ(read_file(path, 10), "new");
  EXPECT_EQ(dir.size(), 1u);
}

TEST(TrainAtomicFile, ALinkStaysALink) {
  const TempDir dir;
  write_file(dir / "target", "old");
  std::filesystem::create_symlink("target", dir / "link");
  write_file(dir / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_file(dir / "target", 10), "new");
}

TEST(TrainAtomicFile, FullDisksAndMissingFoldersAreErrors) {
  const TempDir dir;
  EXPECT_ERROR(write_file("/dev/full", "x"), "/dev/full: writing failed: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  const std::string nowhere = dir / "no/a";
  EXPECT_ERROR(AtomicFile{nowhere}, nowhere + ": cannot be written: no such folder");
  EXPECT_ERROR(AtomicFile{dir / ""}, dir / "" + ": is a directory");
  EXPECT_ERROR(AtomicFile{""}, "a file needs a name");
  EXPECT_ERROR(read_file("/dev/zero", 1000), "/dev/zero: has more than 1000 bytes");
}

TEST(TrainAtomicFile, TheReasonIsThatOfTheFailure) {
  const TempDir dir;
  AtomicFile file(dir / "x");
  file.write("text");
  ASSERT_EQ(::mkdir((dir / "x").c_str(), 0777), 0);
  errno = 0;
  EXPECT_ERROR(file.commit(), (dir / "x") + ": cannot be written: Is a directory");
}

// The disk is full in the middle of a file: the one before stays.
TEST(TrainAtomicFile, NothingIsLostWhereAWriteFails) {
  const TempDir dir;
  const std::string path = dir / "a";
  write_file(path, "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 1000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = test::error_of([&] { write_file(path, std::string(5000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, path + ": writing failed: File too large");
  EXPECT_EQ(read_file(path, 10), "old");
  EXPECT_EQ(dir.size(), 1u);
}

}  // namespace
}  // namespace rodeo
