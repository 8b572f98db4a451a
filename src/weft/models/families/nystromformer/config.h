// SPDX-License-Identifier: Apache-2.0
// The fields that Nystromformer has beyond those of every encoder.
#pragma once

#include <cstdint>

#include "weft/core/fields.h"

namespace weft::models {

struct NystromformerFields {
  std::int64_t num_landmarks = 64;
  std::int64_t segment_means_seq_len = 64;
  std::int64_t conv_kernel_size = 65;  ///< -1: there is no convolution
  bool inv_coeff_init_option = false;

  /// Softmax over all pairs: the rule of transformers, whatever the length of the input.
  bool sees_all_pairs() const { return num_landmarks == segment_means_seq_len; }

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = NystromformerFields;
    visit(Field{"num_landmarks", &C::num_landmarks, "landmarks of a layer"}.range(1, 4096));
    visit(Field{"segment_means_seq_len", &C::segment_means_seq_len,
                "tokens that transformers makes landmarks of, or num_landmarks for softmax over all pairs"}
              .range(1, 1 << 24));
    visit(Field{"conv_kernel_size", &C::conv_kernel_size,
                "length of the convolution over the values, an odd number; -1 for none"}
              .range(-1, 1023));
    visit(Field{"inv_coeff_init_option", &C::inv_coeff_init_option,
                "the first guess of the inverse is scaled for each head"});
  }
};

}  // namespace weft::models
