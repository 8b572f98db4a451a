// SPDX-License-Identifier: Apache-2.0
// A step of training makes the tensors that the step before it made and dropped. Their memory is kept for it: else the
// system takes it back and clears each page anew, which was 11 to 13% of a step of BigBird-base.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::training {

/// While it lives, tensors of at least 128 KiB on the CPU lie in memory that is used again (core/system/kept_memory.h):
/// the most that a process has is the most that its tensors have at once. Numbers stay what they are. Nothing is done
/// where tensors are offloaded to a disk (offload.h). Tensors may outlive it.
class KeptTensors {
 public:
  KeptTensors();
  ~KeptTensors();
  KeptTensors(const KeptTensors&) = delete;
  KeptTensors& operator=(const KeptTensors&) = delete;

  /// Step `step` is done: now and then what no step asked for lately goes to the system.
  void end_step(std::int64_t step) noexcept;
  /// All that is kept goes to the system: for work that is no step, such as a checkpoint.
  void release() noexcept;

 private:
  bool is_on_;
};

/// Bytes of tensors that were made in kept memory since the process began, and those that the system gave for them.
struct KeptTensorBytes {
  std::size_t made = 0;
  std::size_t fresh = 0;
};
KeptTensorBytes kept_tensor_bytes();

}  // namespace weft::training
