// SPDX-License-Identifier: Apache-2.0
// Whether the operator is right on the device that models are opened on, before anybody times it: the dense float64
// oracle of the CPU at a short length, and rows sampled at the length that is timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/attention/attention.h"

namespace weft::bench {

struct AttentionCase {
  pattern::Pattern pattern;
  std::int64_t length = 4096;
  std::int64_t batch = 1;
  std::int64_t heads = 12;
  std::int64_t head_dim = 64;
  at::ScalarType dtype = at::kFloat;
  std::string bias = "none";             ///< or alibi, bialibi
  std::vector<std::int64_t> input = {};  ///< ascending positions that `input` stands for

  /// Refers to `input`; positions that a shorter length does not have are left out.
  pattern::Site site(std::int64_t of_length) const;
  /// Of the bias, as AttentionOptions takes them: ALiBi's own; for BiALiBi half of them on the right, a quarter at
  /// position 0. Undefined without one.
  at::Tensor slopes() const;
  attention::AttentionOptions options() const;
  /// [batch, heads, of_length, head_dim] on attention::opening_device(), N(0, 1), the same in every run and on every
  /// device.
  at::Tensor random(std::int64_t of_length, std::uint64_t seed) const;
};

/// The largest error of outputs and query gradients found, as |difference| over what the dtype allows is at most 1.
struct AttentionCheck {
  double max_abs_error = 0;  ///< of outputs
  double max_abs_gradient_error =
      0;  ///< of gradients, relative to the largest of each tensor; 0 without a check of them
};

/// Errors: kNumeric when a result is off by more than the dtype allows (float32: 1e-5; bfloat16: 2^-6, two roundings to
/// 8 bits and what they do to sums).
AttentionCheck check_attention(const AttentionCase& call, bool with_gradients);

}  // namespace weft::bench
