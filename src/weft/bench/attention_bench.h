// SPDX-License-Identifier: Apache-2.0
// One attention call kept ready, and its times and memory beside LibTorch's dense attention and a matrix product, in
// turns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "weft/bench/attention_check.h"
#include "weft/bench/timing.h"

namespace weft::bench {

/// Tensors and layout of a call, and the six things that are timed on it. Not copied: the works refer to it.
class AttentionBench {
 public:
  using Work = std::function<void()>;

  AttentionBench(const AttentionCase& call, bool with_gradients);
  AttentionBench(const AttentionBench&) = delete;
  AttentionBench& operator=(const AttentionBench&) = delete;

  Work forward();  ///< without gradients
  Work forward_backward();
  /// LibTorch's, over all pairs. Where LibTorch multiplies the dtype slowly, between roundings in float32, as Weft
  /// does.
  Work dense_forward() const;
  Work dense_forward_backward() const;
  /// Over all pairs, by LibTorch's products and softmax, with all scores in memory: what a program without a fused
  /// kernel does.
  Work stored_forward() const;
  Work stored_forward_backward() const;

  const attention::Layout& layout() const noexcept { return *layout_; }
  /// Which path the last call took.
  attention::Path path() const noexcept { return path_; }

 private:
  at::Tensor sparse();
  at::Tensor dense() const;
  at::Tensor stored() const;
  void backward(const at::Tensor& output) const;

  attention::LayoutPtr layout_;
  attention::AttentionOptions options_;
  at::Tensor direction_;
  std::vector<at::Tensor> tensors_;
  attention::Path path_ = attention::Path::kAuto;
};

/// The most that each call held beyond its inputs, as most_bytes_of() has it.
struct AttentionBytes {
  std::optional<std::int64_t> forward;
  std::optional<std::int64_t> dense_forward;
  std::optional<std::int64_t> stored_forward;
  std::optional<std::int64_t> forward_backward;
  std::optional<std::int64_t> dense_forward_backward;
  std::optional<std::int64_t> stored_forward_backward;
};

/// Times in milliseconds, rates in GFLOP/s. What was not measured is absent.
struct AttentionTimes {
  std::optional<double> forward_ms;
  std::optional<double> dense_forward_ms;
  std::optional<double> forward_backward_ms;
  std::optional<double> dense_forward_backward_ms;
  std::optional<double> stored_forward_ms;
  std::optional<double> stored_forward_backward_ms;
  AttentionBytes bytes;
  std::optional<double> gemm_gflops;  ///< 4096 x 768 x 3072, as layers::product() computes it in the same dtype
  std::optional<at::ScalarType> yardstick_dtype;  ///< in which dense attention and that product were multiplied
  /// Of our kernels on a CPU; on another device the most that any of the calls held beyond its inputs.
  std::optional<std::int64_t> workspace_bytes;
  std::optional<attention::Path> path;
};

/// Dense attention is skipped above this length.
inline constexpr std::int64_t kLongestDense = 32768;
/// The most scores that attention that stores them may have, of all heads and texts: 4 GiB of float32, three times as
/// much backwards.
inline constexpr std::int64_t kMostStoredScores = std::int64_t{1} << 30;

/// What is timed besides the forward pass.
struct TimedParts {
  bool backward = false;
  bool dense = true;
  bool stored = false;
};

/// Before anything is computed. Errors: kArgument for `parts.stored` and more than kMostStoredScores.
void check_stored_scores(const AttentionCase& call, const TimedParts& parts);

/// Errors: those of check_stored_scores().
AttentionTimes time_attention(const AttentionCase& call, const TimedParts& parts, const TimingLimits& limits = {});

}  // namespace weft::bench
