// SPDX-License-Identifier: Apache-2.0
// An allocator in front of LibTorch's own that counts while a call runs. A device of its own memory counts by itself.
#include "weft/bench/counted_memory.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/kernels/workspace.h"

namespace weft::bench {
namespace {

/// Counts what passes through it on its way to LibTorch's own allocator. Its pointers are plain ones, since buffers of
/// products are asked for without an owner.
class CountedMemory : public c10::Allocator {
 public:
  /// One for the process, which is never freed: a tensor that is made meanwhile may outlive the measurement.
  static CountedMemory& only() {
    static auto* const counted = new CountedMemory;
    return *counted;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    void* const data = inner_->raw_allocate(bytes);
    const std::lock_guard lock(mutex_);
    sizes_[data] = static_cast<std::int64_t>(bytes);
    now_ += static_cast<std::int64_t>(bytes);
    peak_ = std::max(peak_, now_);
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  void reset() {
    const std::lock_guard lock(mutex_);
    now_ = peak_ = 0;
  }
  std::int64_t peak() {
    const std::lock_guard lock(mutex_);
    return peak_;
  }
  c10::Allocator* inner() const noexcept { return inner_; }

 private:
  CountedMemory() : inner_(c10::GetCPUAllocator()) {}

  static void release(void* data) {
    CountedMemory& memory = only();
    {
      const std::lock_guard lock(memory.mutex_);
      const auto found = memory.sizes_.find(data);
      if (found != memory.sizes_.end()) {
        memory.now_ -= found->second;
        memory.sizes_.erase(found);
      }
    }
    memory.inner_->raw_deallocate(data);
  }

  c10::Allocator* inner_;
  std::mutex mutex_;
  std::unordered_map<void*, std::int64_t> sizes_;
  std::int64_t now_ = 0;
  std::int64_t peak_ = 0;
};

/// The most bytes held at once while `work` runs on a device that counts by itself.
std::int64_t most_device_bytes_of(const std::function<void()>& work, c10::Device device) {
  attention::reset_device_peak(device);
  const std::int64_t before = attention::device_bytes(device);
  work();
  attention::synchronise(device);
  return attention::device_peak(device) - before;
}

}  // namespace

std::int64_t most_bytes_of(const std::function<void()>& work) {
  if (const c10::Device device = attention::opening_device(); attention::has_own_memory(device)) {
    return most_device_bytes_of(work, device);
  }
  CountedMemory& counted = CountedMemory::only();
  struct Counting {
    Counting() { c10::SetCPUAllocator(&CountedMemory::only(), 255); }
    ~Counting() { c10::SetCPUAllocator(CountedMemory::only().inner(), 255); }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
  };
  counted.reset();
  kernels::reset_workspace_peak();
  {
    const Counting counting;
    work();
  }
  return counted.peak() + kernels::workspace_peak();
}

}  // namespace weft::bench
