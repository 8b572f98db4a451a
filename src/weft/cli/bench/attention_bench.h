// SPDX-License-Identifier: Apache-2.0
// Times the operator beside LibTorch's dense attention and a matrix product, in turns.
#pragma once

#include <optional>

#include "weft/cli/bench/attention_check.h"

namespace weft::cli {

/// Times in milliseconds, rates in GFLOP/s. What was not measured is absent.
struct AttentionTimes {
  double forward_ms = 0;
  std::optional<double> dense_forward_ms;
  std::optional<double> forward_backward_ms;
  std::optional<double> dense_forward_backward_ms;
  double gemm_gflops = 0;  ///< 4096 x 768 x 3072 in the same dtype
  std::int64_t workspace_bytes = 0;
  attention::Path path = attention::Path::kAuto;
};

/// Dense attention is skipped above this length.
inline constexpr std::int64_t kLongestDense = 32768;

AttentionTimes time_attention(const AttentionCase& call, bool with_backward);

}  // namespace weft::cli
