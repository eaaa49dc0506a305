// What a command says where CUDA, or a library, is not as it should be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/device.h"
#include "datasets/dataset.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/io/atomic_file.h"
#if RODEO_WITH_CUDA
#include "core/cuda/library.h"
#include "core/cuda/presence.h"
#include "tests/support/devices.h"
#endif

namespace rodeo {
namespace {

using test::TempDir;
namespace fs = std::filesystem;

struct Result {
  int code;
  std::string out, err;
};

class TrainStart : public testing::Test {
 protected:
  void SetUp() override { save_dataset(test::tiny_dataset(), dir_ / "tiny.h5"); }

  /// train_gcn with other variables of the environment: "NAME=value".
  Result train(const std::string& environment, const std::string& arguments) {
    const std::string line = str("exec env ", environment, " '", test::command("train_gcn"), "' --dataset '",
                                 dir_ / "tiny.h5", "' --epochs 2 ", arguments);
    const int code = test::wait_for(test::start({"/bin/bash", "-c", line}, dir_ / "out", dir_ / "err"));
    return {code, read_file(dir_ / "out", 1 << 20), read_file(dir_ / "err", 1 << 20)};
  }

  static std::string library_path(const std::string& first) {
    return str("LD_LIBRARY_PATH='", first, "'${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}");
  }

  /// A library that is none, in a folder for LD_LIBRARY_PATH.
  std::string damaged(const std::string& file) {
    fs::create_directories(dir_ / "lib");
    std::ofstream(dir_ / ("lib/" + file)) << "no library";
    return library_path(dir_ / "lib");
  }

  /// `auto` trains on the CPU and says so, `--list-devices` says why, `cuda` is one line and exit code 2.
  void expect_no_cuda(const std::string& environment, const std::string& reason) {
    const Result chosen = train(environment, "--device auto");
    EXPECT_EQ(chosen.code, 0) << chosen.err;
    EXPECT_EQ(chosen.err, "");
    EXPECT_NE(chosen.out.find("); no GPU: --list-devices says why\n"), std::string::npos) << chosen.out;
    const Result wanted = train(environment, "--device cuda");
    EXPECT_EQ(wanted.code, 2);
    EXPECT_EQ(wanted.err, "train_gcn: device 'cuda' is not available: " + reason + "\n");
    EXPECT_EQ(train(environment, "--device cpu --quiet").code, 0);
    const Result devices = train(environment, "--list-devices");
    EXPECT_EQ(devices.code, 0);
    EXPECT_NE(devices.out.find("no CUDA device: " + reason + "\n"), std::string::npos) << devices.out;
  }

  TempDir dir_;
};

// The loader reports a library that a program cannot start without.
TEST_F(TrainStart, ALibraryThatIsNeededIsNamedByTheLoader) {
  const std::string list = dir_ / "needed";
  ASSERT_EQ(std::system(str("ldd '", test::command("train_gcn"), "' >'", list, "'").c_str()), 0);
  const std::string needed = read_file(list, 1 << 20);
  const auto at = needed.find("libhdf5");
  if (at == std::string::npos) GTEST_SKIP() << "HDF5 is linked in";
  const std::string file = needed.substr(at, needed.find(' ', at) - at);
  const Result result = train(damaged(file), "");
  EXPECT_EQ(result.code, 127);
  EXPECT_NE(result.err.find("error while loading shared libraries: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(file + ": file too short\n"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

#if RODEO_WITH_CUDA

/// tests/fakes/libcuda.cpp instead of the machine's driver.
class TrainStartDriver : public TrainStart {
 protected:
  void SetUp() override {
    TrainStart::SetUp();
    if (!fs::exists(RODEO_FAKE_DRIVER_FOLDER))
      GTEST_SKIP() << "the tests were moved away from their build folder: no " << RODEO_FAKE_DRIVER_FOLDER;
  }
  static std::string fake_driver(int version, int status) {
    return str("-u CUDA_VISIBLE_DEVICES ", library_path(RODEO_FAKE_DRIVER_FOLDER),
               " RODEO_FAKE_DRIVER=", version, " RODEO_FAKE_STATUS=", status);
  }
  const int ours_ = cuda::runtime_version();
};

TEST_F(TrainStartDriver, IsMissing) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a driver";
  if (std::system("ldconfig -p 2>/dev/null | grep -q libcuda.so.1") == 0) GTEST_SKIP() << "there is a driver";
  expect_no_cuda("", cuda::driver_trouble(0, ours_));
}

TEST_F(TrainStartDriver, IsTooOld) {
  expect_no_cuda(fake_driver(11040, 0), cuda::driver_trouble(11040, ours_));
}

TEST_F(TrainStartDriver, ShowsNoGpu) {
  constexpr int kNoDevice = 100, kMismatch = 803;
  const std::string none = fake_driver(ours_, kNoDevice);
  expect_no_cuda(none, cuda::no_device_trouble(nullptr));
  expect_no_cuda(none + " CUDA_VISIBLE_DEVICES=7", cuda::no_device_trouble("7"));
  const Result broken = train(fake_driver(ours_, kMismatch), "--device cuda");
  EXPECT_EQ(broken.code, 2);
  EXPECT_NE(broken.err.find("is not available: the NVIDIA driver does not work (system has unsupported"),
            std::string::npos)
      << broken.err;
}

// cuBLASLt is needed for every model, cuSPARSE for those who ask for it; runs on the CPU open neither.
TEST_F(TrainStart, ALibraryOfCudaIsNamed) {
  const std::string blas = cuda::cublaslt_library().file(), sparse = cuda::cusparse_library().file();
  const std::string environment = damaged(blas);
  EXPECT_EQ(train(environment, "--device cpu --quiet").code, 0);
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  expect_no_cuda(environment, "cuBLASLt cannot be loaded (" + dir_ / ("lib/" + blas) +
                                  ": file too short): install it, for a wheel by pip install "
                                  "'rodeo-gnn[cuda]', or name its folder in LD_LIBRARY_PATH");
  fs::remove(dir_ / ("lib/" + blas));
  damaged(sparse);
  EXPECT_EQ(train(environment, "--device cuda --quiet").code, 0);
  const Result wanted = train(environment, "--device cuda --quiet --spmm cusparse");
  EXPECT_EQ(wanted.code, 2);
  EXPECT_EQ(wanted.err, "train_gcn: [cuda] cuSPARSE cannot be loaded (" + dir_ / ("lib/" + sparse) +
                            ": file too short): install it, for a wheel by pip install 'rodeo-gnn[cuda]', or "
                            "name its folder in LD_LIBRARY_PATH\n");
}

TEST(TrainStartLibrary, SaysWhatIsMissing) {
  cuda::Library none("cuNothing", "libnothing.so.1");
  const std::string text =
      "cuNothing cannot be loaded (libnothing.so.1: cannot open shared object file: No such file or "
      "directory): install it, for a wheel by pip install 'rodeo-gnn[cuda]', or name its folder in "
      "LD_LIBRARY_PATH";
  EXPECT_EQ(none.trouble(), text);
  EXPECT_ERROR(none.function("nothing"), "[cuda] " + text);
  cuda::Library other("cuMath", "libm.so.6");
  EXPECT_EQ(other.trouble(), "");
  EXPECT_NE(other.function("cos"), nullptr);
  EXPECT_ERROR(other.function("cusparseCreate"),
               "[cuda] cuMath (libm.so.6) has no cusparseCreate: it is of another version than this build; "
               "install the one of its CUDA toolkit");
}

// The libraries of the toolkit that this was built with are found where it has them.
TEST(TrainStartLibrary, FindsTheToolkits) {
  EXPECT_EQ(cuda::cublaslt_library().trouble(), "");
  EXPECT_EQ(cuda::cusparse_library().trouble(), "");
  EXPECT_NE(cuda::cusparse_library().function("cusparseSpMM"), nullptr);
}

TEST(TrainStartTexts, SayWhatIsWrongWhatWasExpectedAndWhatToDo) {
  EXPECT_EQ(cuda::driver_trouble(0, 13000),
            "there is no NVIDIA driver (libcuda.so.1), and this build needs one for CUDA 13.0: install it; a "
            "container gets it from the host, with docker's --gpus all");
  EXPECT_EQ(
      cuda::driver_trouble(11040, 12060),
      "the NVIDIA driver is for CUDA up to 11.4, and this build needs one for CUDA 12.6: update the driver, "
      "build with an older CUDA toolkit, or install the wheel with +cu12 in its name");
  EXPECT_EQ(cuda::no_device_trouble(nullptr),
            "the NVIDIA driver shows no GPU: see whether nvidia-smi -L lists one; a container gets it with "
            "docker's --gpus all");
  EXPECT_EQ(cuda::no_device_trouble(""),
            "the NVIDIA driver shows no GPU, with CUDA_VISIBLE_DEVICES='': unset it, or name a GPU of "
            "nvidia-smi -L");
  EXPECT_EQ(
      cuda::architecture_trouble("cuda:0 (NVIDIA A10)", 8, 6, "90"),
      "cuda:0 (NVIDIA A10) has compute capability 8.6, and this build has no code for it "
      "(CMAKE_CUDA_ARCHITECTURES was 90): configure with -DCMAKE_CUDA_ARCHITECTURES=86, or choose another "
      "GPU with CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(
      cuda::architecture_trouble("cuda:0 (NVIDIA T4)", 7, 5, "90"),
      "cuda:0 (NVIDIA T4) has compute capability 7.5, and GPUs below 8.0 are not supported: choose another "
      "GPU with CUDA_VISIBLE_DEVICES, or use the CPU with --device cpu");
}

#endif  // RODEO_WITH_CUDA

}  // namespace
}  // namespace rodeo
