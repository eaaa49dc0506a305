// A libcuda.so.1 that says of itself what the environment wants: RODEO_FAKE_DRIVER is the CUDA version it
// has, RODEO_FAKE_STATUS what cuInit() returns. It shows no GPU.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

namespace {

int number(const char* name) {
  const char* const text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

constexpr int kUnknownError = 999;
int refuse() {
  return kUnknownError;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return number("RODEO_FAKE_STATUS");
}
int cuDriverGetVersion(int* version) {
  *version = number("RODEO_FAKE_DRIVER");
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return 0;
}
int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kUnknownError;
}
int cuGetProcAddress_v2(const char* name, void** function, int, std::uint64_t, int* found) {
  void* const self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  *function = self ? dlsym(self, name) : nullptr;
  if (!*function) *function = reinterpret_cast<void*>(refuse);
  if (found) *found = 0;
  return 0;
}
int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

}  // extern "C"
