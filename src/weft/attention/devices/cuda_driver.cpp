// SPDX-License-Identifier: Apache-2.0
// The functions of cuda.h that are needed, by their names: their types are part of NVIDIA's stable ABI.
#include "weft/attention/devices/cuda_driver.h"

#include <array>
#include <cstddef>

#include <dlfcn.h>

#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, and _MINOR
constexpr int kMinor = 76;

void* driver_library() {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library;
}

// Calls the driver's function `name`; false where it fails or is not there.
template <typename... Arguments>
bool call(const char* name, Arguments... arguments) {
  void* symbol = driver_library() == nullptr ? nullptr : ::dlsym(driver_library(), name);
  return symbol != nullptr && reinterpret_cast<int (*)(Arguments...)>(symbol)(arguments...) == kSuccess;
}

CudaDevice describe(int index) {
  constexpr std::size_t kLongestName = 256;
  CudaDevice device;
  std::array<char, kLongestName> name{};
  int handle = 0;
  std::size_t bytes = 0;
  call("cuDeviceGet", &handle, index);
  if (call("cuDeviceGetName", name.data(), static_cast<int>(name.size()), handle)) {
    name.back() = '\0';
    device.name = name.data();
  }
  call("cuDeviceGetAttribute", &device.major, kMajor, handle);
  call("cuDeviceGetAttribute", &device.minor, kMinor, handle);
  if (call("cuDeviceTotalMem_v2", &bytes, handle)) {
    device.total_bytes = static_cast<std::int64_t>(bytes);
  }
  return device;
}

// What cuInit answers besides success.
std::string initial_problem() {
  void* symbol = ::dlsym(driver_library(), "cuInit");
  if (symbol == nullptr) {
    return "libcuda.so.1 is no driver of NVIDIA: it has no cuInit";
  }
  const int status = reinterpret_cast<int (*)(unsigned)>(symbol)(0);
  if (status == kSuccess) {
    return {};
  }
  return status == kNoDevice ? "the NVIDIA driver finds no GPU, or CUDA_VISIBLE_DEVICES hides all of them"
                             : concat("the NVIDIA driver does not start: cuInit gives error ", status);
}

CudaDriver ask() {
  CudaDriver driver;
  if (driver_library() == nullptr) {
    driver.problem = "there is no NVIDIA driver: libcuda.so.1 cannot be opened";
    return driver;
  }
  driver.problem = initial_problem();
  if (!driver.problem.empty()) {
    return driver;
  }
  call("cuDriverGetVersion", &driver.version);
  int count = 0;
  call("cuDeviceGetCount", &count);
  for (int index = 0; index < count; ++index) {
    driver.devices.push_back(describe(index));
  }
  if (count == 0) {
    driver.problem = "the NVIDIA driver finds no GPU, or CUDA_VISIBLE_DEVICES hides all of them";
  }
  return driver;
}

}  // namespace

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = ask();
  return driver;
}

std::int64_t free_cuda_bytes(int index) {
  int handle = 0;
  void* context = nullptr;
  void* before = nullptr;
  std::size_t free = 0;
  std::size_t total = 0;
  if (!cuda_driver().problem.empty() || !call("cuDeviceGet", &handle, index) ||
      !call("cuDevicePrimaryCtxRetain", &context, handle)) {
    return -1;
  }
  const bool is_known = call("cuCtxPushCurrent_v2", context) && call("cuMemGetInfo_v2", &free, &total);
  call("cuCtxPopCurrent_v2", &before);
  call("cuDevicePrimaryCtxRelease_v2", handle);
  return is_known ? static_cast<std::int64_t>(free) : -1;
}

std::string cuda_version_text(int version) {
  constexpr int kMajorUnit = 1000;
  constexpr int kMinorUnit = 10;
  return concat(version / kMajorUnit, ".", version % kMajorUnit / kMinorUnit);
}

}  // namespace weft::attention
