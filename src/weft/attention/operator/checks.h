// SPDX-License-Identifier: Apache-2.0
// What every way into the operator checks: the front door, the dispatcher's forward and backward kernels, and those
// that only know shapes. A kernel follows sizes and strides without looking, so nothing reaches one unchecked.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/call.h"

namespace weft::attention {

/// Dtypes, devices and sizes of a call, and `key_keep` (bool [B, K] or undefined) beside them. Sizes that a tracer has
/// not settled (SymInt) are not compared. Errors: kArgument naming both sides of what does not fit.
void check_tensors(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& key_keep);

/// Errors: kArgument for a scale that is not finite or a dropout outside [0, 1), in float32 too.
void check_numbers(double scale, double dropout);

/// check_tensors() of a call, its layout against its tensors, its distance table, row positions and relative term.
/// Errors: kArgument.
void check_call(Call& call);

/// What the backward pass is given of the forward pass, for a call that check_tensors() passed. Errors: kArgument.
void check_results(const at::Tensor& query, const at::Tensor& value, const Forward& forward,
                   const at::Tensor& output_gradient);

}  // namespace weft::attention
