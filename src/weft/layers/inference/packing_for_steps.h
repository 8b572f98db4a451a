// SPDX-License-Identifier: Apache-2.0
// When a product of few rows goes to oneDNN, and whether it keeps a packed form of the weight.
#pragma once

#include <cstdint>

namespace weft::layers {

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

}  // namespace weft::layers
