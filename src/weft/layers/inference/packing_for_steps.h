// SPDX-License-Identifier: Apache-2.0
// When a product of few rows goes to oneDNN, and whether it keeps a packed form of the weight.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// Of the weights that a decoder keeps in a second, packed form for speed: 512 MB of float32. A larger model would not
/// fit in as little memory as one expects of it.
inline constexpr std::int64_t kMostPackedNumbers = std::int64_t{1} << 27;

/// While it lives, PackedWeight serves this thread's products of two rows or more, where it otherwise asks for 64: for
/// a decoder, which multiplies the rows of its batch by the same weights at every token. Against LibTorch's product (1
/// on one Zen 4 core, float32) that of 32 rows with the 58,101 ids of a head takes 0.41 with a packed form, and that of
/// 5 rows with 96,103 ids 0.28; without a form, which takes as much memory as the weights, 0.46. One row takes about as
/// long in every way.
class PackingForSteps {
 public:
  /// Without `keeps_forms` no packed form is made of a float32 weight.
  explicit PackingForSteps(bool keeps_forms) noexcept;
  ~PackingForSteps();
  PackingForSteps(const PackingForSteps&) = delete;
  PackingForSteps& operator=(const PackingForSteps&) = delete;

 private:
  std::int64_t fewest_before_;
  bool kept_before_;
};

/// Whether PackedWeight serves the product of x [..., in] and weight [out, in] only because it is that of a step,
/// behind which the caller computes an activation that oneDNN lacks (a gate): of many rows LibTorch's product takes as
/// long.
bool is_product_of_step(const at::Tensor& x, const at::Tensor& weight);

}  // namespace weft::layers
