// SPDX-License-Identifier: Apache-2.0
// Linear layers at inference on a CPU: oneDNN's product with its weights packed where that pays, bias and activation
// done while the sums are in registers. On a Zen 4 core a feed-forward's first product with its gelu takes 0.76
// (bfloat16) and 0.72 (float32) of the time that LibTorch's product and gelu take one after the other.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "weft/layers/activation.h"

namespace weft::layers {

/// No weight is packed by this thread while it lives: for a pass that runs again with gradients and must round alike.
class WithoutPacking {
 public:
  WithoutPacking() noexcept;
  ~WithoutPacking();
  /// Whether one of this thread lives.
  static bool is_on() noexcept;
  WithoutPacking(const WithoutPacking&) = delete;
  WithoutPacking& operator=(const WithoutPacking&) = delete;

 private:
  bool before_;
};

/// Which numbers a form was packed from. It knows their storage, not its address: what is freed leaves its address to
/// what comes next, and a storage that is referred to, even weakly, cannot be another one.
class PackedSource {
 public:
  PackedSource() = default;
  explicit PackedSource(const at::Tensor& weight);

  /// Whether `weight` holds the same numbers, as far as LibTorch counts writes (PackedWeight says what it misses).
  bool is(const at::Tensor& weight) const;

 private:
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_{c10::intrusive_ptr<c10::StorageImpl>()};
  const void* data_ = nullptr;
  std::int64_t version_ = -1;
  at::ScalarType dtype_ = at::ScalarType::Undefined;
  std::vector<std::int64_t> sizes_;
};

/// The packed form of one weight, made at the first call and again when the weight has changed: written to in place, or
/// given other memory by set_data(), to() or a checkpoint. LibTorch does not count writes through `weight.data()`, nor
/// those through a raw pointer: who makes one calls `weight.unsafeGetTensorImpl()->bump_version()`, or writes under
/// NoGradGuard to the weight itself (`weight.mul_(2)`), which is counted.
class PackedWeight {
 public:
  /// Whether the call is computed here: no gradient is recorded or will be, x has 64 rows or more (two under
  /// PackingForSteps), x and weight are on a CPU in one dtype that oneDNN multiplies fast, no autocast to another one,
  /// an activation that it has.
  static bool serves(const at::Tensor& x, const at::Tensor& weight, std::optional<Activation> activation);

  /// x [..., in], weight [out, in], bias [out] or undefined -> activation(x W^T + b) [..., out]. Only where serves()
  /// says so. A float32 weight is not packed for 1,024 rows or more, nor under PackingForSteps(false). Thread-safe.
  at::Tensor multiply(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      std::optional<Activation> activation);

 private:
  at::Tensor packed(const at::Tensor& weight, std::int64_t rows);

  std::mutex mutex_;
  at::Tensor packed_;
  PackedSource source_;
};

}  // namespace weft::layers
