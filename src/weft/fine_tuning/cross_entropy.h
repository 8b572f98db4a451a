// SPDX-License-Identifier: Apache-2.0
// The loss of one row of logits in float64, for figures on held-out data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace weft::fine_tuning {

/// -log softmax(logits)[label]. `logits` are finite and not empty.
inline double cross_entropy_of(std::span<const double> logits, std::int64_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const double logit : logits) {
    sum += std::exp(logit - largest);
  }
  return std::log(sum) + largest - logits[static_cast<std::size_t>(label)];
}

}  // namespace weft::fine_tuning
