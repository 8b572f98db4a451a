// SPDX-License-Identifier: Apache-2.0
// An allocator of LibTorch's over KeptMemory; small tensors stay where LibTorch puts them.
#include "weft/training/run/kept_tensors.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <new>

#include "weft/core/environment.h"
#include "weft/core/system/kept_memory.h"
#include "weft/training/run/offload.h"

namespace weft::training {
namespace {

/// Smaller tensors are many and take little room together.
constexpr std::size_t kLeastKept = std::size_t{128} << 10;
constexpr std::uint8_t kKeptPriority = 1;  // LibTorch's own allocators have 0
constexpr std::int64_t kStepsOfPeriod = 8;

/// LibTorch's own rule for its tensors.
bool wants_large_pages() { return environment("THP_MEM_ALLOC_ENABLE") == "1"; }

class KeptAllocator final : public c10::Allocator {
 public:
  KeptAllocator() : memory_(wants_large_pages()), usual_(c10::GetCPUAllocator()) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes >= kLeastKept) {
      try {
        void* const address = memory_.take(bytes);
        return {address, address, &give_back, c10::Device(c10::DeviceType::CPU)};
      } catch (const std::bad_alloc&) {
        memory_.release();  // what LibTorch may find, or else names in its error
      }
    }
    return usual_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
  c10::Allocator* usual() const noexcept { return usual_; }
  KeptMemory& memory() noexcept { return memory_; }

 private:
  static void give_back(void* address);

  KeptMemory memory_;
  c10::Allocator* usual_;
};

/// Never destroyed: tensors that are static members of a library outlive main().
KeptAllocator& kept_allocator() {
  static auto* const only = new KeptAllocator();  // NOLINT(cppcoreguidelines-owning-memory)
  return *only;
}

void KeptAllocator::give_back(void* address) {
  KeptAllocator& allocator = kept_allocator();
  if (allocator.memory_.owns(address)) {
    allocator.memory_.give_back(address);
  } else if (address != nullptr) {
    allocator.usual_->raw_deleter()(address);
  }
}

std::mutex users_mutex;
std::int64_t users = 0;

}  // namespace

KeptTensors::KeptTensors() : is_on_(!is_offloading()) {
  const std::scoped_lock lock(users_mutex);
  if (is_on_ && users++ == 0) {
    c10::SetCPUAllocator(&kept_allocator(), kKeptPriority);
  }
}

KeptTensors::~KeptTensors() {
  const std::scoped_lock lock(users_mutex);
  if (is_on_ && --users == 0) {
    c10::SetCPUAllocator(kept_allocator().usual(), kKeptPriority);
    kept_allocator().memory().release();
  }
}

void KeptTensors::end_step(std::int64_t step) noexcept {
  if (is_on_ && step % kStepsOfPeriod == 0) {
    kept_allocator().memory().end_period();
  }
}

void KeptTensors::release() noexcept {
  if (is_on_) {
    kept_allocator().memory().release();
  }
}

KeptTensorBytes kept_tensor_bytes() {
  const KeptMemory::Figures figures = kept_allocator().memory().figures();
  return {figures.handed, figures.fresh};
}

}  // namespace weft::training
