// SPDX-License-Identifier: Apache-2.0
// The ways in which a call can be computed: which one is best, which ones are possible, and running it. Nothing here
// knows of autograd or of the dispatcher.
#pragma once

#include <string_view>

#include "weft/attention/attention.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// The best path for device, dtype and layout.
Path choose_path(const Call& call);

/// Throws kArgument where `path` cannot serve the call.
void check_path(const Call& call, Path path);

/// The inverse of to_string(Path). Errors: kArgument for an unknown name.
Path path_of(std::string_view name);

/// `path` is not kAuto, kDecode or, on other devices than the CPU, kDense.
Forward run_forward(const Call& call, Path path);
Gradients run_backward(const Call& call, Path path, const Forward& forward, const at::Tensor& output_gradient);

}  // namespace weft::attention
