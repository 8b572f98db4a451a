// SPDX-License-Identifier: Apache-2.0
// The first layer of the second DeBERTa as released: a transformer block, and a convolution of what it is given.
#pragma once

#include <cstdint>
#include <string>

#include "weft/layers/block_config.h"

namespace weft::models {

struct ConvolutionShape {
  std::int64_t kernel = 3;  ///< tokens, an odd number
  std::int64_t groups = 1;  ///< of columns, each of which sees its own
  std::string activation = "tanh";
};

/// norm(block(x) + activation(dropout(W * x + b))), where tokens that are padding give and get nothing. What it learns
/// beside the block: `convolution.weight` [hidden, hidden / groups, kernel], `convolution.bias`, `convolution_norm`.
layers::BlockFactory convolution_block(const ConvolutionShape& shape);

}  // namespace weft::models
