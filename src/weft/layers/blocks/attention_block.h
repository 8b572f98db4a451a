// SPDX-License-Identifier: Apache-2.0
// What all transformer blocks have: self-attention and a feed-forward, each around a residual connection with dropout
// and a norm before or after.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/layers/attention/self_attention.h"
#include "weft/layers/blocks/block.h"
#include "weft/layers/feed_forward.h"
#include "weft/layers/norm.h"

namespace weft::layers {

/// Pre-norm: x + f(norm(x)) (Xiong et al. 2020). Post-norm: norm(x + f(x)) (Vaswani et al. 2017).
class AttentionBlockImpl : public BlockImpl {
 public:
  std::string description() const override;
  void share(BlockImpl& first) override;
  std::vector<at::Tensor> shared_parameters() const override;
  bool needs_input() const override;
  std::unique_ptr<attention::AttentionState> initial_state() const override;
  void remember(const at::Tensor& rows, attention::AttentionState& state) override;

  SelfAttention attention{nullptr};
  Norm attention_norm{nullptr};
  FeedForward feed_forward{nullptr};
  Norm feed_forward_norm{nullptr};

 protected:
  /// One sublayer: its norm, and the number of its dropout (see dropout_seed).
  struct Sublayer {
    Norm& norm;
    std::int64_t site;
  };

  /// Registers the attention and its norm. What a kind of block has between it and the feed-forward it registers before
  /// add_feed_forward(): names and order of a module tree decide first values.
  AttentionBlockImpl(const BlockConfig& config, SelfAttention self_attention, const at::TensorOptions& options);
  void add_feed_forward(const BlockConfig& config, const at::TensorOptions& options);
  Norm add_norm(const char* name, const BlockConfig& config, const at::TensorOptions& options);

  /// What the function of a sublayer sees of x [B, N, hidden].
  at::Tensor seen(const at::Tensor& x, Norm& norm) const { return norm_first_ ? norm(x) : x; }
  /// What the feed-forward gives for rows behind its norm.
  at::Tensor forwarded(const at::Tensor& rows, const BlockContext& context);
  /// What the function of a sublayer gave, behind its dropout.
  at::Tensor dropped(const at::Tensor& given, std::int64_t site, const BlockContext& context) const;
  /// The residual connection: x, and what the function of a sublayer gave for it, which nobody else has any more.
  at::Tensor added(const at::Tensor& x, at::Tensor given, Sublayer sublayer, const BlockContext& context) const;
  /// The last sublayer, x [B, N, hidden] -> the same.
  at::Tensor fed(const at::Tensor& x, const BlockContext& context);
  bool norm_first() const noexcept { return norm_first_; }

  // Uses of dropout, see dropout_seed.
  static constexpr std::int64_t kAttentionSite = 1;
  static constexpr std::int64_t kFeedForwardSite = 2;
  static constexpr std::int64_t kCrossAttentionSite = 3;
  static constexpr std::int64_t kPackSite = 5;  // 4 is that of the probabilities of cross-attention, and of pack
  static constexpr std::int64_t kCompanionSite = 6;
  static constexpr std::int64_t kInnerSite = 7;

 private:
  std::int64_t layer_;
  bool norm_first_;
  double dropout_;
  double attention_output_dropout_;
};

}  // namespace weft::layers
