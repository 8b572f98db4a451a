// SPDX-License-Identifier: Apache-2.0
// The first weights of a model, as published.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>

namespace weft::models {

/// How a parameter begins, by the role that its name tells: biases 0, norm weights 1, all else normal(0, range)
/// (Radford et al. 2018, section 4.1; Devlin et al. 2019, as released). Parameters of attention mechanisms are left as
/// those set them.
struct Initializer {
  double range = 0.02;
  /// As in Sparse Transformers (Child et al. 2019, section 6) in place of `range`: a matrix has 0.125 / sqrt(columns),
  /// tables 0.125 / sqrt(columns * tables of that kind), the head 0.
  bool by_fan_in = false;
  /// Divides the range of the matrices that write to the residual stream: sqrt(residual layers) in pre-norm models
  /// (Radford et al. 2019, section 2.3).
  double residual_divisor = 1.0;
  double cutoff = 0.0;  ///< numbers lie within so many ranges of 0, as if others were drawn anew; 0: anywhere
  /// Ranges of parameters whose names end so, in place of `range`.
  std::vector<std::pair<std::string_view, double>> ranges = {};
  /// As Transformer-XL was released: norm weights are normal(1, norm_range), and projections of a vocabulary in
  /// clusters normal(0, projection_range) in place of 1 / sqrt(columns), where it is not 0.
  double norm_range = 0.0;
  double projection_range = 0.0;
  std::int64_t padding_id = -1;                 ///< its row of a token table is 0; -1: no such row
  bool padding_position = false;                ///< so is its row of a position table
  std::optional<at::Generator> generator = {};  ///< absent: LibTorch's default one
};

/// All parameters of `model` in the order of its tree, or those whose names `only` begins.
void initialize(torch::nn::Module& model, const Initializer& initializer, std::string_view only = {});

}  // namespace weft::models
