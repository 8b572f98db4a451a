// SPDX-License-Identifier: Apache-2.0
// The ways in which a call can be computed: who takes it, and running it. Nothing here knows of autograd or of the
// dispatcher.
#pragma once

#include <optional>
#include <string_view>

#include "weft/attention/call.h"

namespace weft::attention {

enum class Asker {
  kFrontDoor,  ///< takes any way
  kOperator,   ///< needs the log-sum-exp and a backward pass that knows nothing of autograd
};

/// Chooses the way of a checked call, once: for kAuto the first that takes it in the order of the backends, and of the
/// ways of each; else the first of `call.path`. Sets `path` and `taken`. Errors: kArgument with the reasons where no
/// way of the path takes the call; kUnsupported where kAuto finds none.
void choose_way(Call& call, Asker asker);

/// One query token a row that nobody differentiates, by the first backend that takes it; nothing where none does, or
/// where it met a number that is not finite.
struct Decoded {
  Forward forward;
  const Backend* backend;
};
std::optional<Decoded> run_decoding(const Call& call);

/// The inverse of to_string(Path). Errors: kArgument for an unknown name.
Path path_of(std::string_view name);

/// The call by its way, which has a backward pass. Results of shape [B, H, N, C] lie in memory as batch, length, head,
/// column; log_sum_exp is contiguous.
Forward run_forward(const Call& call);
Gradients run_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient);

}  // namespace weft::attention
