// SPDX-License-Identifier: Apache-2.0
// Which numbers a form was made of is asked as for packed weights.
#include "weft/layers/replay/kept_operands.h"

#include <c10/core/InferenceMode.h>

#include "weft/attention/devices/device_work.h"
#include "weft/layers/precision.h"

namespace weft::layers {
namespace {

at::Tensor rounded_parameter(const at::Tensor& parameter, at::ScalarType dtype) {
  return parameter.defined() ? operand(parameter.detach(), dtype) : parameter;
}

thread_local bool keeps_operands = false;

}  // namespace

KeepingOperands::KeepingOperands(bool keeps) noexcept : before_(keeps_operands) { keeps_operands = keeps || before_; }
KeepingOperands::~KeepingOperands() { keeps_operands = before_; }
bool KeepingOperands::is_on() noexcept { return keeps_operands; }

Operands KeptOperands::of(const at::Tensor& weight, const at::Tensor& bias, at::ScalarType dtype) {
  const bool serves_again = KeepingOperands::is_on() || attention::has_own_memory(weight.device());
  const bool is_kept = serves_again && weight.scalar_type() != dtype && !weight.is_inference();
  if (!is_kept) {
    return {};
  }
  const std::scoped_lock lock(mutex_);
  const bool is_same =
      kept_.weight.defined() && dtype_ == dtype && weight_.is(weight) && (!bias.defined() || bias_.is(bias));
  if (!is_same) {
    // They outlive the call: made in inference mode they could not be kept for a backward pass later.
    const c10::InferenceMode outside(false);
    kept_ = {};  // its memory may serve what is made
    kept_ = {rounded_parameter(weight, dtype), rounded_parameter(bias, dtype)};
    dtype_ = dtype;
    weight_ = PackedSource(weight);
    bias_ = bias.defined() ? PackedSource(bias) : PackedSource();
  }
  return kept_;
}

}  // namespace weft::layers
