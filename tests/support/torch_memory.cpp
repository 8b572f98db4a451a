// SPDX-License-Identifier: Apache-2.0
// Puts a counting allocator before LibTorch's own for as long as the measurement lasts.
#include "support/torch_memory.h"

#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <mutex>

namespace weft::testing {
namespace {

class CountingAllocator : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    auto* held = new Held{inner_->allocate(bytes), static_cast<std::int64_t>(bytes), this};
    add(held->bytes);
    return {held->data.get(), held, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
  std::int64_t peak() const { return peak_; }

 private:
  struct Held {
    c10::DataPtr data;
    std::int64_t bytes;
    CountingAllocator* owner;
  };

  static void release(void* context) {
    auto* held = static_cast<Held*>(context);
    held->owner->add(-held->bytes);
    delete held;
  }

  void add(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }

  c10::Allocator* inner_;
  std::mutex mutex_;
  std::int64_t now_ = 0;
  std::int64_t peak_ = 0;
};

// Sees what is allocated on one thread, because how the buffers of several lie in time differs from run to run. What
// was before comes back also where the work throws.
class Counting {
 public:
  explicit Counting(c10::Allocator* allocator) {
    at::set_num_threads(1);
    c10::SetCPUAllocator(allocator, 255);
  }
  ~Counting() {
    c10::SetCPUAllocator(before_, 255);
    at::set_num_threads(threads_);
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  c10::Allocator* before_ = c10::GetCPUAllocator();
  int threads_ = at::get_num_threads();
};

}  // namespace

std::int64_t peak_tensor_bytes(const std::function<void()>& work) {
  // Never freed: a tensor made meanwhile may outlive the measurement.
  auto* counting = new CountingAllocator(c10::GetCPUAllocator());
  const Counting scope(counting);
  work();
  return counting->peak();
}

}  // namespace weft::testing
