// SPDX-License-Identifier: Apache-2.0
// A weight as int8: a code a number and a scale an output, a quarter of float32. Products turn each row of x into codes
// with a scale of its own (kernels/int8/product.h). For inference on a CPU: nothing here has a gradient.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "weft/kernels/int8/product.h"
#include "weft/layers/activation.h"

namespace weft::layers {

/// W [out, in] with number = code * scale of its output, codes in [-127, 127]. It does not change once it is made.
class Int8Weight {
 public:
  /// Scale max |w| / 127 and the nearest codes. `weight` [out, in] is floating point. Errors begin with `where` (a
  /// tensor, and its file where there is one): kNumeric for NaN or infinity; kUnsupported for more inputs than sums of
  /// 32 bits hold.
  Int8Weight(const at::Tensor& weight, std::string_view where);
  /// From codes int8 [out, in] and scales float32 [out], as codes() and scales() gave them. Errors begin with `where`:
  /// kFormat for the code -128 and for a scale that is not finite and above 0.
  Int8Weight(const at::Tensor& codes, const at::Tensor& scales, std::string_view where);

  std::int64_t outputs() const noexcept { return outputs_; }
  std::int64_t inputs() const noexcept { return inputs_; }
  /// int8 [out, in], a copy.
  at::Tensor codes() const;
  /// float32 [out], a view.
  at::Tensor scales() const { return scales_.narrow(0, 0, outputs_); }
  /// float32 [count, in]: what the codes stand for.
  at::Tensor numbers(std::int64_t begin, std::int64_t count) const;
  /// The numbers of outputs `ids` int64 [...], all of them there -> [..., in] float32 or bfloat16: an embedding.
  at::Tensor rows(const at::Tensor& ids, at::ScalarType dtype) const;

  /// x [..., in] float32 or bfloat16 -> activation(x W^T + bias) [..., out] of autocast's dtype where it is on, else
  /// that of x; bias [out] or undefined. A row of x with NaN or infinity gives NaN. Errors: kUnsupported for another
  /// dtype or device, and where a gradient would be recorded.
  at::Tensor multiply(const at::Tensor& x, const at::Tensor& bias, std::optional<Activation> activation) const;
  /// Outputs [begin, begin + count) alone; bias [count] or undefined.
  at::Tensor multiply_rows(const at::Tensor& x, const at::Tensor& bias, std::int64_t begin, std::int64_t count) const;

 private:
  void allocate(std::string_view where);
  kernels::Int8Matrix matrix() const;
  kernels::Int8Storage storage() const;
  /// How a product is asked for.
  struct Wanted {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    kernels::Int8Function function = kernels::Int8Function::kNone;
    bool is_gated = false;
  };
  at::Tensor product(const at::Tensor& x, const at::Tensor& bias, const Wanted& wanted) const;

  std::int64_t outputs_ = 0;
  std::int64_t inputs_ = 0;
  at::Tensor codes_;        // int8, as kernels::place_of_code() says
  at::Tensor scales_;       // float32 [padded out]
  at::Tensor corrections_;  // int32 [padded out]
};

/// A table [V, D] whose rows stand for ids, and with which a head scores hidden states: numbers, or int8.
struct TokenTable {
  at::Tensor numbers;  ///< undefined where the table is int8
  std::shared_ptr<const Int8Weight> int8 = nullptr;

  bool is_empty() const { return !numbers.defined() && int8 == nullptr; }
};

/// A module that can keep one of its parameters as int8.
class KeepsInt8 {
 public:
  KeepsInt8() = default;
  KeepsInt8(const KeepsInt8&) = default;
  KeepsInt8& operator=(const KeepsInt8&) = default;
  virtual ~KeepsInt8() = default;
  /// The parameter's name in the module.
  virtual std::string int8_parameter() const = 0;
  /// Its numbers, or undefined once it is int8, and where the module has no such parameter.
  virtual at::Tensor floating() const = 0;
  /// What keep_int8() gave, or null.
  virtual std::shared_ptr<const Int8Weight> kept() const = 0;
  /// From now on the parameter is `weight`, and no parameter of the module any more.
  virtual void keep_int8(std::shared_ptr<const Int8Weight> weight) = 0;
};

/// The modules of `model`, each with the name of its parameter in `model`, that keep one as int8 or could.
std::vector<std::pair<std::string, KeepsInt8*>> int8_keepers(const torch::nn::Module& model);
/// All parameters of `model` that modules can keep as int8 become int8. Errors: as Int8Weight.
void keep_int8(torch::nn::Module& model);
/// Whether a module of `model` keeps int8.
bool holds_int8(const torch::nn::Module& model);
/// What `from` keeps as int8, modules of the same names in `to` keep from now on, too.
void share_int8(const torch::nn::Module& from, torch::nn::Module& to);

}  // namespace weft::layers
