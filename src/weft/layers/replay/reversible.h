// SPDX-License-Identifier: Apache-2.0
// Reversible residual connections (Gomez et al. 2017; Kitaev et al. 2020, section 3): each layer's inputs follow from
// its outputs, so that the backward pass computes them again and a model of any depth keeps two tensors.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// y1 = x1 + f(x2), y2 = x2 + g(y1). Each function has to give the same result each time: its dropout takes explicit
/// seeds, and what it chose by comparing numbers it keeps (a recomputed x differs in its last bits).
struct ReversibleLayer {
  using Function = std::function<at::Tensor(const at::Tensor&)>;
  Function f;
  Function g;
  std::vector<at::Tensor> f_leaves;  ///< all the other leaves that f uses
  std::vector<at::Tensor> g_leaves;  ///< and g
};

/// The residual stream, in two halves of equal shape.
struct Streams {
  at::Tensor first;
  at::Tensor second;
};

/// `x` through all layers. Between the passes only the result is kept; the backward pass goes through the layers from
/// the last to the first, x2 = y2 - g(y1) and x1 = y1 - f(x2), under the autocast state of this call, and runs each
/// function once with its gradients. Streams that are computed again differ by rounding, more with each layer. Without
/// gradient mode it is a plain loop. `seen` takes what each f was given, detached. Double backward is an error.
Streams reversible(const std::vector<ReversibleLayer>& layers, const Streams& x,
                   std::vector<at::Tensor>* seen = nullptr);

}  // namespace weft::layers
