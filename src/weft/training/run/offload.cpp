// SPDX-License-Identifier: Apache-2.0
// An allocator of LibTorch's over FileMemory; small tensors stay where LibTorch puts them.
#include "weft/training/run/offload.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <memory>

#include <linux/magic.h>
#include <sys/vfs.h>

#include "weft/core/disk/file_memory.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::training {
namespace {

/// Smaller tensors are many and take little room together.
constexpr std::size_t kLeast = std::size_t{128} << 10;
constexpr std::uint8_t kPriority = 1;  // LibTorch's own allocators have 0

class FileAllocator final : public c10::Allocator {
 public:
  explicit FileAllocator(const std::filesystem::path& directory) : memory_(directory), usual_(c10::GetCPUAllocator()) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes < kLeast) {
      return usual_->allocate(bytes);
    }
    void* const address = memory_.take(bytes);
    return {address, address, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  static void release(void* address);

  FileMemory memory_;
  c10::Allocator* usual_;
};

// Never destroyed: tensors that are static members of a library outlive main().
FileAllocator* the_allocator = nullptr;

void FileAllocator::release(void* address) {
  if (the_allocator->memory_.owns(address)) {
    the_allocator->memory_.give_back(address);
  } else if (address != nullptr) {
    the_allocator->usual_->raw_deleter()(address);
  }
}

bool is_in_memory(const std::filesystem::path& directory) {
  struct statfs status{};
  return ::statfs(directory.c_str(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}

}  // namespace

void offload_tensors(const std::filesystem::path& directory) {
  require(the_allocator == nullptr, "tensors are offloaded already");
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): lives as long as the process
  the_allocator = new FileAllocator(directory);
  if (is_in_memory(directory)) {
    write_log(LogLevel::kWarning, concat(option("offload"), ": ", quote(directory.native(), 4096),
                                         " lies in memory itself (tmpfs), which saves none: name a folder of a disk"));
  }
  c10::SetCPUAllocator(the_allocator, kPriority);
}

bool is_offloading() noexcept { return the_allocator != nullptr; }

std::size_t offloaded_bytes() { return the_allocator == nullptr ? 0 : the_allocator->bytes(); }

}  // namespace weft::training
