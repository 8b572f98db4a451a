// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1 of GPUs that are none: the functions of the driver that Weft asks, which answer as variables say.
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

long value_of(const char* name, long otherwise) {
  const char* const found = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes variables
  return found == nullptr ? otherwise : std::strtol(found, nullptr, 10);
}

constexpr int kNoSuchDevice = 101;
constexpr int kMajor = 75;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names of a C interface
extern "C" {

int cuInit(unsigned /*flags*/) { return static_cast<int>(value_of("PRETENDED_INIT", 0)); }

int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(value_of("PRETENDED_VERSION", 13020));
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(value_of("PRETENDED_GPUS", 1));
  return 0;
}

int cuDeviceGet(int* device, int index) {
  *device = index;
  return index < value_of("PRETENDED_GPUS", 1) ? 0 : kNoSuchDevice;
}

int cuDeviceGetName(char* name, int length, int /*device*/) {
  std::strncpy(name, "Pretended GPU", static_cast<std::size_t>(length));
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  *value = attribute == kMajor ? static_cast<int>(value_of("PRETENDED_MAJOR", 9)) : 0;
  return 0;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int /*device*/) {
  *bytes = std::size_t{1} << 36;
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int /*device*/) {
  *context = static_cast<void*>(context);  // any address that is not null
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int /*device*/) { return 0; }

int cuCtxPushCurrent_v2(void* /*context*/) { return 0; }

int cuCtxPopCurrent_v2(void** context) {
  *context = nullptr;
  return 0;
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = static_cast<std::size_t>(value_of("PRETENDED_FREE", 1L << 35));
  *total = std::size_t{1} << 36;
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
