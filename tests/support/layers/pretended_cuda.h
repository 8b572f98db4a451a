// SPDX-License-Identifier: Apache-2.0
// A GPU that is none: LibTorch's operators on tensors of cuda:0 are computed by those of the CPU, over memory that the
// CPU cannot read at the address that a tensor has. Whole models run with it in tests, and whatever is left on the CPU,
// or reads the memory of a GPU, fails.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <c10/core/Device.h>

namespace weft::test {

/// Registers the device on first use, for the rest of the process, and returns cuda:0. LibTorch asks once whether there
/// is CUDA and keeps the answer: a program that uses this does so before anything else. An operator that meets a tensor
/// of the CPU with dimensions beside one of the GPU throws, as it does on a GPU; a read of the memory of a GPU by other
/// code than operators ends the process with a signal. Errors: std::runtime_error where the system gives no memory.
c10::Device pretended_cuda();

/// Operators that were computed for the device so far.
std::int64_t pretended_operators() noexcept;
/// Bytes of memory of the CPU that LibTorch asked for as pinned so far. Other memory must be waited for when it is
/// copied to the device: an operator that does not throws.
std::int64_t pretended_pinned_bytes() noexcept;

/// The operators so far by name ("aten::add.out"). What the host of a GPU waits for is a "wait": copies to the CPU,
/// those from the CPU that do not say that nobody waits, and what brings a number to the CPU (item()).
std::map<std::string, std::int64_t> pretended_operator_counts();

/// While one lives, the CPU may read and write the memory of the device: for kernels that are called with addresses.
class OpenedMemory {
 public:
  OpenedMemory();
  ~OpenedMemory();
  OpenedMemory(const OpenedMemory&) = delete;
  OpenedMemory& operator=(const OpenedMemory&) = delete;
};

}  // namespace weft::test
