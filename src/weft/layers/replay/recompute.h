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

/// Whether the calling thread runs a function of recompute() again for the backward pass: what it keeps is there for a
/// moment, so that a part of it need not be computed a third time.
bool is_recomputing() noexcept;

/// For a function that runs again in a backward pass: the gradients of those of `inputs` that need one, where that of
/// `output` is `gradient`; undefined for the rest and for inputs that the output does not depend on.
std::vector<at::Tensor> gradients_of(const at::Tensor& output, const at::Tensor& gradient,
                                     const std::vector<at::Tensor>& inputs);

}  // namespace weft::layers
