// SPDX-License-Identifier: Apache-2.0
// In which dtype a matrix product runs: autocast's where it is on, and on processors without bfloat16 units a product
// of the same numbers in float32. Autocast's thread-local state, held so that a recomputation in the backward pass sees
// the forward's.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

namespace weft::layers {

/// The dtype that a product's operands and result are rounded to: autocast's on this device when it is on, else that of
/// `tensor`. float64 is never lowered.
at::ScalarType product_dtype(const at::Tensor& tensor);

/// `a` [M, K] times `b` [K, N], operands rounded to `dtype`, sums in float32, result rounded to `dtype`. Where LibTorch
/// multiplies that dtype slowly (see weft::has_fast_bfloat16) the product itself runs in float32: same numbers but for
/// the order of summation.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, at::ScalarType dtype);

/// As product(), but the result keeps the accumulator: float32 where `dtype` is shorter and the product ran in float32.
at::Tensor accumulated_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType dtype);

/// `a` [M, K] times `b` [K, N], both in operand form. Where a GPU multiplies 16-bit numbers the result is its float32
/// sums; else it is at::mm's.
at::Tensor summed_product(const at::Tensor& a, const at::Tensor& b);

/// `tensor` as an operand of products in `dtype`: rounded to it, and stored as float32 where products run in float32.
/// Rounding once serves several products.
at::Tensor operand(const at::Tensor& tensor, at::ScalarType dtype);

/// Whether products of `dtype` on this device are computed in float32.
bool is_emulated(at::DeviceType device, at::ScalarType dtype);

/// An undefined tensor as nullopt: autograd functions take a tensor that may be missing only in this form.
inline std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

/// Operators below it do not autocast.
class WithoutAutocast {
 public:
  WithoutAutocast() : guard_(c10::autocast_dispatch_keyset) {}

 private:
  c10::impl::ExcludeDispatchKeyGuard guard_;
};

/// Autocast on one device type as it was when this was made.
class AutocastState {
 public:
  /// Reads the state of the calling thread.
  explicit AutocastState(at::DeviceType device);
  /// Sets the state for the current scope and restores the caller's after it.
  class Scope {
   public:
    explicit Scope(const AutocastState& state);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    at::DeviceType device_;
    bool enabled_;
    at::ScalarType dtype_;
  };

 private:
  at::DeviceType device_;
  bool enabled_;
  at::ScalarType dtype_;
};

}  // namespace weft::layers
