// SPDX-License-Identifier: Apache-2.0
// LibTorch's CUDA libraries are not linked: the guard and the allocator that they registered answer.
#include "weft/attention/devices/device_work.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstddef>

#include "weft/core/cpu.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr int kFirstWithBfloat16 = 8;  // the major number of a compute capability

// All memory, in the statistics of an allocator.
const c10::CachingAllocator::Stat& of_all(const c10::CachingAllocator::StatArray& stats) {
  return stats[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}

// Null for a CPU, whose allocator counts nothing.
c10::DeviceAllocator* counting_allocator(c10::Device device) {
  if (!has_own_memory(device)) {
    return nullptr;
  }
  auto* const allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
  require(allocator != nullptr, "the allocator of ", device.str(), " does not count its memory");
  return allocator;
}

c10::CachingAllocator::Stat bytes_on(c10::Device device) {
  c10::DeviceAllocator* const allocator = counting_allocator(device);
  return allocator == nullptr ? c10::CachingAllocator::Stat{}
                              : of_all(allocator->getDeviceStats(device.index()).allocated_bytes);
}

const CudaDevice* known_device(c10::Device device, const CudaDriver& driver) {
  const auto index = static_cast<std::size_t>(device.has_index() ? device.index() : 0);
  return index < driver.devices.size() ? &driver.devices[index] : nullptr;
}

}  // namespace

bool has_own_memory(c10::Device device) { return device != c10::Device(c10::kCPU); }

void synchronise(c10::Device device) {
  if (has_own_memory(device)) {
    c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
  }
}

void reset_device_peak(c10::Device device) {
  if (c10::DeviceAllocator* const allocator = counting_allocator(device)) {
    allocator->resetPeakStats(device.index());
  }
}

std::int64_t device_peak(c10::Device device) { return bytes_on(device).peak; }

std::int64_t device_bytes(c10::Device device) { return bytes_on(device).current; }

bool is_fast_at_bfloat16(c10::Device device, const CudaDriver& driver) {
  if (!has_own_memory(device)) {
    return has_fast_bfloat16();
  }
  const CudaDevice* const known = known_device(device, driver);
  return known != nullptr && known->major >= kFirstWithBfloat16;
}

bool is_fast_at_bfloat16(c10::Device device) {
  return has_own_memory(device) ? is_fast_at_bfloat16(device, cuda_driver()) : has_fast_bfloat16();
}

std::string device_description(c10::Device device, const CudaDriver& driver) {
  if (!has_own_memory(device)) {
    return cpu_description();
  }
  const CudaDevice* const known = known_device(device, driver);
  return known == nullptr ? device.str()
                          : concat(known->name, ", compute capability ", known->major, ".", known->minor);
}

std::string device_description(c10::Device device) {
  return has_own_memory(device) ? device_description(device, cuda_driver()) : cpu_description();
}

}  // namespace weft::attention
