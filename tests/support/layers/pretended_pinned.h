// SPDX-License-Identifier: Apache-2.0
// Memory of the CPU that a GPU would read and write at once. It is memory as any other, and who was given it is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace weft::test {

class PinnedMemory : public c10::Allocator {
 public:
  static PinnedMemory& only() {
    static auto* const memory = new PinnedMemory;  // tensors may outlive main()
    return *memory;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    auto memory = std::make_unique<c10::DataPtr>(c10::GetCPUAllocator()->allocate(bytes));
    void* const data = memory->get();
    const std::scoped_lock lock(mutex_);
    asked_ += static_cast<std::int64_t>(bytes);
    places_[static_cast<const char*>(data)] = bytes;
    return {data, memory.release(), &release, c10::Device(c10::kCPU)};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    c10::GetCPUAllocator()->copy_data(to, from, bytes);
  }

  /// Bytes that LibTorch asked for so far.
  std::int64_t asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  /// Whether `data` points into what was given and is still held.
  bool holds(const void* data) {
    const std::scoped_lock lock(mutex_);
    const auto* const address = static_cast<const char*>(data);
    const auto behind = places_.upper_bound(address);
    if (behind == places_.begin()) {
      return false;
    }
    const auto& [first, bytes] = *std::prev(behind);
    return address < first + bytes;
  }

 private:
  static void release(void* context) {
    const std::unique_ptr<c10::DataPtr> memory(static_cast<c10::DataPtr*>(context));
    const std::scoped_lock lock(only().mutex_);
    only().places_.erase(static_cast<const char*>(memory->get()));
  }

  std::mutex mutex_;
  std::int64_t asked_ = 0;
  std::map<const char*, std::size_t> places_;
};

}  // namespace weft::test
