// SPDX-License-Identifier: Apache-2.0
// Sums over all tokens before, of constant size: the state of mechanisms that replace the softmax by features
// (Katharopoulos et al. 2020, section 3.4).
#pragma once

#include "weft/attention/state/attention_state.h"

namespace weft::attention {

/// How sums become those with new tokens; undefined tensors change nothing.
struct SumChange {
  at::Tensor kept = {};   ///< [B, H_kv, 1, 1]: the part that is left of the sums before
  at::Tensor level = {};  ///< [B, H_kv, 1, 1]: the logarithm of what the new sums are divided by
};

/// sum_j keys_j^T values_j, [B, H_kv, r, c] in float32 (float64 for float64).
class RunningSums : public AttentionState {
 public:
  explicit RunningSums(std::int64_t layer = 0) : AttentionState(layer) {}

  /// keys [B, H_kv, n, r], values [B, H_kv, n, c].
  void append(const at::Tensor& keys, const at::Tensor& values) override;
  /// The same for sums that forget, or whose scale changes.
  void append(const at::Tensor& keys, const at::Tensor& values, const SumChange& change);
  void advance() override;
  std::unique_ptr<AttentionState> fresh() const override { return std::make_unique<RunningSums>(layer_); }
  void reorder(const at::Tensor& rows) override;
  void limit(std::int64_t tokens) override;
  bool keeps_tokens() const override { return false; }
  void truncate(std::int64_t length) override;
  void detach() override;
  std::size_t bytes() const override;
  NamedTensors save() const override;
  void load(const NamedTensors& tensors, std::int64_t length) override;

  /// Over the first length() tokens; undefined before the first.
  const at::Tensor& sums() const noexcept { return sums_; }
  /// Those and the appended ones, until they count; undefined where none is pending.
  const at::Tensor& appended() const noexcept { return appended_; }
  /// SumChange::level of the last tokens that count; undefined where none was given.
  const at::Tensor& level() const noexcept { return level_; }

 private:
  at::Tensor sums_;
  at::Tensor appended_;
  at::Tensor level_;
  at::Tensor appended_level_;
};

}  // namespace weft::attention
