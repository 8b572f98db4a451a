// SPDX-License-Identifier: Apache-2.0
// Random features that are drawn anew while a model is trained (Choromanski et al. 2021, appendix B.1), for whoever
// trains it. Nobody else asks which mechanism a layer has.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>

namespace weft::attention {

/// Draws new random rows in the layers of `model` whose setting redraw=N divides `done`, the number of steps that are
/// done. The rows are a function of the run's seed, the step and the layer's place, so that runs that are resumed and
/// processes that train together have the same ones; they lie in the model's parameters, and are saved with them.
void redraw_features(const torch::nn::Module& model, std::int64_t done, std::uint64_t seed);

}  // namespace weft::attention
