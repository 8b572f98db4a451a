// SPDX-License-Identifier: Apache-2.0
// Which norm goes before or behind a sublayer. Apart from norm.h, whose module base costs 13 s to compile.
#pragma once

namespace weft::layers {

enum class NormKind {
  kLayer,  ///< layer normalisation (Ba et al. 2016)
  kRms,    ///< by the root of the mean square, without mean and bias (Zhang and Sennrich 2019)
  kNone,   ///< nothing is done, and there is no parameter
};

struct NormConfig {
  NormKind kind = NormKind::kLayer;
  bool bias = true;       ///< of a layer norm
  double epsilon = 1e-5;  ///< added to the variance or to the mean square
};

}  // namespace weft::layers
