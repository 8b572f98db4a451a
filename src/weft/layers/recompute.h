// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing (Chen et al. 2016): a function keeps only its input, and runs again in the backward pass.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// `function(x)`, remembering x alone: the backward pass runs `function` again, under the autocast state of this call.
/// Gradients reach x and `parameters`, which are all the other leaves that `function` uses. `function` has to give the
/// same result each time: its dropout takes explicit seeds. Without gradient mode it is a plain call. Double backward
/// is an error.
at::Tensor recompute(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& x,
                     const std::vector<at::Tensor>& parameters);

}  // namespace weft::layers
