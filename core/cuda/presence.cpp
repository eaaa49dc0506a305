#include "core/cuda/presence.h"

#include <cuda_runtime.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/cuda/check.h"
#include "core/cuda/library.h"
#include "core/device_type.h"

namespace rodeo::cuda {
namespace {

constexpr int kMinComputeCapability = 8;  // the major number: kernels need cp.async and bf16 of Ampere

std::string version(int number) {
  return str(number / 1000, ".", number % 1000 / 10);
}

struct Presence {
  int count = 0;
  std::string reason;
  Presence() {
    reason = find();
    if (!reason.empty()) count = 0;
  }

 private:
  std::string find() {
    const cudaError_t status = cudaGetDeviceCount(&count);
    cudaGetLastError();  // clear it
    if (status == cudaErrorInsufficientDriver) {
      int driver = 0;
      cudaDriverGetVersion(&driver);
      return driver_trouble(driver, runtime_version());
    }
    if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
      return no_device_trouble(std::getenv("CUDA_VISIBLE_DEVICES"));
    if (status != cudaSuccess)
      return str("the NVIDIA driver does not work (", cudaGetErrorString(status),
                 "): see what nvidia-smi says; after an update of the driver, restart the machine");
    return cublaslt_library().trouble();
  }
};

const Presence& presence() {
  static const Presence presence;
  return presence;
}

// The build has neither machine code for the GPU nor PTX that the driver can compile.
bool is_wrong_code(cudaError_t status) {
  return status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction ||
         status == cudaErrorUnsupportedPtxVersion || status == cudaErrorInvalidPtx ||
         status == cudaErrorJitCompilerNotFound || status == cudaErrorInvalidKernelImage;
}

std::string find_refusal(int index) {
  // On another thread, because cudaSetDevice() would change the current device of this one.
  cudaError_t status = cudaSuccess;
  std::thread([&] {
    status = cudaSetDevice(index);
    if (status == cudaSuccess) status = static_cast<cudaError_t>(load_a_kernel());
    cudaGetLastError();  // clear it
  }).join();
  if (!is_wrong_code(status)) return {};  // the first kernel launch reports any other error
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, index), "reading device properties");
  return architecture_trouble(str(cuda_device(index), " (", properties.name, ")"), properties.major,
                              properties.minor, RODEO_CUDA_ARCHITECTURES);
}

}  // namespace

int runtime_version() {
  int version = 0;
  check_cuda(cudaRuntimeGetVersion(&version), "reading the runtime version");
  return version;
}

std::string driver_trouble(int driver_version, int runtime_version) {
  const std::string required = str("CUDA ", version(runtime_version));
  if (driver_version == 0)
    return str("there is no NVIDIA driver (libcuda.so.1), and this build needs one for ", required,
               ": install it; a container gets it from the host, with docker's --gpus all");
  return str(
      "the NVIDIA driver is for CUDA up to ", version(driver_version), ", and this build needs one for ",
      required,
      ": update the driver, build with an older CUDA toolkit, or install the wheel with +cu12 in its name");
}

std::string no_device_trouble(const char* visible) {
  const std::string none = "the NVIDIA driver shows no GPU";
  if (visible)
    return str(none, ", with CUDA_VISIBLE_DEVICES='", visible, "': unset it, or name a GPU of nvidia-smi -L");
  return none + ": see whether nvidia-smi -L lists one; a container gets it with docker's --gpus all";
}

std::string architecture_trouble(std::string_view device, int major, int minor, std::string_view built_for) {
  const std::string has = str(device, " has compute capability ", major, ".", minor);
  if (major < kMinComputeCapability)
    return str(has, ", and GPUs below ", kMinComputeCapability,
               ".0 are not supported: choose another GPU with CUDA_VISIBLE_DEVICES, or use the CPU with "
               "--device cpu");
  return str(has, ", and this build has no code for it (CMAKE_CUDA_ARCHITECTURES was ", built_for,
             "): configure with -DCMAKE_CUDA_ARCHITECTURES=", major, minor,
             ", or choose another GPU with CUDA_VISIBLE_DEVICES");
}

int device_count() {
  return presence().count;
}

std::string absence_reason() {
  return presence().reason;
}

std::string refusal(int index) {
  static std::mutex mutex;
  static std::array<std::string, 64> known;
  static std::array<bool, 64> is_known{};
  check(index >= 0 && index < device_count() && index < 64, "[cuda] no such device: ", index);
  const std::scoped_lock lock(mutex);
  if (!is_known[index]) known[index] = find_refusal(index);
  is_known[index] = true;
  return known[index];
}

}  // namespace rodeo::cuda
