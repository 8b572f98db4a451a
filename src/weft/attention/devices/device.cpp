// SPDX-License-Identifier: Apache-2.0
// The driver is asked first: it costs milliseconds, and LibTorch's CUDA half is gigabytes.
#include "weft/attention/devices/device.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>

#include <dlfcn.h>

#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::attention {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCudaHalf = "libtorch_cuda.so";
constexpr int kVersionOfMajor = 1000;
// Devices as LibTorch numbers them.
constexpr int kMostDevices = 128;

std::optional<int> number_in(std::string_view digits) {
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = !digits.empty() && error == std::errc{} && end == digits.data() + digits.size();
  return is_number && number >= 0 && number < kMostDevices ? std::optional(number) : std::nullopt;
}

int own_gpu() {
  const char* variable = environment("LOCAL_RANK") ? "LOCAL_RANK" : "OMPI_COMM_WORLD_LOCAL_RANK";
  const std::string rank = environment(variable).value_or("");
  if (rank.empty()) {
    return 0;
  }
  const std::optional<int> number = number_in(rank);
  require(number.has_value(), variable, " must be a whole number from 0 to ", kMostDevices - 1, ", found ",
          Quoted(rank));
  return *number;
}

// CUDA's minor versions run on one another; a major version needs a driver of its own.
bool is_too_old(const CudaDriver& driver, int needed) {
  return needed > 0 && driver.version / kVersionOfMajor < needed / kVersionOfMajor;
}

std::atomic<int> devices_given{0};               // how many say so
std::atomic<c10::DeviceIndex> index_of_all{-1};  // below 0: the CPU
thread_local std::optional<c10::Device> of_this_thread;

}  // namespace

c10::Device parse_device(std::string_view name) {
  if (name == "cpu") {
    return c10::Device(c10::kCPU);
  }
  constexpr std::string_view kWithIndex = "cuda:";
  const std::optional<int> index = name == "cuda"                 ? std::optional(own_gpu())
                                   : name.starts_with(kWithIndex) ? number_in(name.substr(kWithIndex.size()))
                                                                  : std::nullopt;
  require(index.has_value(), option("device"),
          " must be cpu, cuda or cuda:N, where N is the number of a GPU from 0 to ", kMostDevices - 1, ", found ",
          Quoted(name));
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(*index)};
}

void check_driver(const CudaDriver& driver, c10::Device device, int needed) {
  if (!driver.problem.empty()) {
    throw Error(ErrorKind::kUnsupported, concat(option("device"), " ", device.str(), ": ", driver.problem),
                "install NVIDIA's driver, or compute with device cpu");
  }
  if (is_too_old(driver, needed)) {
    throw Error(
        ErrorKind::kUnsupported,
        concat(option("device"), " ", device.str(), ": the NVIDIA driver is too old: it serves CUDA ",
               cuda_version_text(driver.version), ", and this LibTorch was made for CUDA ", cuda_version_text(needed)),
        "install a newer driver, or a PyTorch that was made for an older CUDA");
  }
  const auto count = static_cast<int>(driver.devices.size());
  if (device.index() >= count) {
    throw Error(ErrorKind::kUnsupported,
                concat(option("device"), " ", device.str(), ": there is no such GPU; this process sees ", count,
                       ": cuda:0", count > 1 ? concat(" to cuda:", count - 1) : std::string()),
                "CUDA_VISIBLE_DEVICES says which GPUs a process sees");
  }
}

std::string libtorch_folder() {
  Dl_info info{};
  const auto* symbol = reinterpret_cast<const void*>(&at::globalContext);
  if (::dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  const fs::path real = fs::canonical(info.dli_fname, error);
  return (error ? fs::path(info.dli_fname) : real).parent_path().string();
}

// Nobody may ask LibTorch for CUDA before: it asks its registry once, and keeps the answer.
void open_cuda_half(const std::string& folder) {
  const fs::path half = fs::path(folder) / kCudaHalf;
  std::error_code error;
  if (!fs::exists(half, error)) {
    throw Error(
        ErrorKind::kUnsupported,
        concat("this LibTorch has no CUDA: ", kCudaHalf, " is not beside libtorch_cpu.so in ", quote(folder, 4096)),
        "install a PyTorch with CUDA, or name one in WEFT_LIBTORCH");
  }
  if (void* open = ::dlopen(half.c_str(), RTLD_LAZY | RTLD_NOLOAD); open != nullptr) {
    ::dlclose(open);  // counted once more: whoever opened it keeps it
    return;
  }
  if (::dlopen(half.c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
    const char* reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it for each thread
    throw Error(
        ErrorKind::kUnsupported,
        concat("LibTorch's CUDA half cannot be opened: ", quote(reason == nullptr ? "no reason" : reason, 4096)),
        "it needs the packages nvidia-* that its PyTorch names: pip install torch brings them");
  }
  at::globalContext().setAllowTF32CuDNN(false);  // of convolutions: LibTorch's own choice is TF32
}

c10::Device usable_device(std::string_view name) {
  const c10::Device device = parse_device(name);
  if (device == c10::Device(c10::kCPU) || devices_given > 0) {
    return device;
  }
  check_driver(cuda_driver(), device, 0);
  open_cuda_half(libtorch_folder());
  check_driver(cuda_driver(), device, static_cast<int>(at::detail::getCUDAHooks().versionCUDART()));
  if (!at::globalContext().hasCUDA()) {
    throw Error(ErrorKind::kUnsupported,
                concat(option("device"), " ", device.str(), ": LibTorch has opened its CUDA half and finds no GPU"),
                "the CUDA of this PyTorch may not know the GPU, or the driver: python3 -c 'import torch; "
                "torch.zeros(1, device=\"cuda\")' says more");
  }
  return device;
}

void multiply_as_tf32(c10::Device device) {
  if (device == c10::Device(c10::kCPU)) {
    throw Error(ErrorKind::kArgument,
                concat(option("tf32"), " is for products on a GPU, and ", option("device"), " is cpu"),
                concat("say ", option("no_tf32"), ", or compute with ", option("device"), " cuda"));
  }
  at::globalContext().setAllowTF32CuBLAS(true);
  at::globalContext().setAllowTF32CuDNN(true);
}

// The CUDA half is open first: opening it sets the products of convolutions, too.
c10::Device usable_device(std::string_view name, bool tf32) {
  const c10::Device device = usable_device(name);
  if (tf32) {
    multiply_as_tf32(device);
  }
  return device;
}

c10::Device opening_device() noexcept {
  if (of_this_thread) {
    return *of_this_thread;
  }
  const c10::DeviceIndex index = index_of_all.load(std::memory_order_relaxed);
  return index < 0 ? c10::Device(c10::kCPU) : c10::Device(c10::kCUDA, index);
}

void open_models_on(c10::Device device) noexcept {
  index_of_all.store(device.index(), std::memory_order_relaxed);  // the CPU has none: -1
}

OpenOn::OpenOn(c10::Device device) noexcept
    : before_(of_this_thread.value_or(device)), had_before_(of_this_thread.has_value()) {
  of_this_thread = device;
}

OpenOn::~OpenOn() { of_this_thread = had_before_ ? std::optional(before_) : std::nullopt; }

DevicesAreGiven::DevicesAreGiven() noexcept { ++devices_given; }

DevicesAreGiven::~DevicesAreGiven() { --devices_given; }

}  // namespace weft::attention
