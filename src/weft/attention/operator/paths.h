// SPDX-License-Identifier: Apache-2.0
// The ways in which a call can be computed: which one is best, which ones are possible, and running it. Nothing here
// knows of autograd or of the dispatcher.
#pragma once

#include <string_view>

#include "weft/attention/call.h"

namespace weft::attention {

/// `call.path`, or for kAuto the best one for device, dtype and layout. Errors: kArgument where it cannot serve the
/// call.
Path chosen_path(const Call& call);

/// The inverse of to_string(Path). Errors: kArgument for an unknown name.
Path path_of(std::string_view name);

/// The call by its path, which is not kAuto, kDecode or, on other devices than the CPU, kDense. Results of shape
/// [B, H, N, C] lie in memory as batch, length, head, column; log_sum_exp is contiguous.
Forward run_forward(const Call& call);
Gradients run_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient);

}  // namespace weft::attention
