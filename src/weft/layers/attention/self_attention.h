// SPDX-License-Identifier: Apache-2.0
// Multi-head self-attention around any mechanism: fused projection, heads, rotary positions, cache, mechanism, output
// projection.
#pragma once

#include <memory>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/attention/mechanism.h"
#include "weft/layers/attention/split_heads.h"
#include "weft/layers/attention/watched.h"
#include "weft/layers/block_config.h"
#include "weft/layers/linear.h"

namespace weft::layers {

/// softmax(f Q K^T / sqrt(D)) V over the edges of the mechanism, head by head (Vaswani et al. 2017, section 3.2), where
/// f is mostly 1 (BlockConfig::score_factor). A family that does more with the heads derives from it.
class SelfAttentionImpl : public torch::nn::Module, public WatchedLayer {
 public:
  /// Errors: those of make_attention().
  SelfAttentionImpl(const BlockConfig& config, const at::TensorOptions& options);
  /// With a mechanism that no string names, for a family whose scores are its own.
  SelfAttentionImpl(const BlockConfig& config, std::shared_ptr<attention::AttentionImpl> mechanism,
                    const at::TensorOptions& options);
  /// x [B, N, hidden] -> [B, N, hidden]. With a state, x goes on behind its tokens and is taken into it. `memory`
  /// [B, M, hidden] are rows before x that give keys and values alone; undefined: there are none.
  at::Tensor forward(const at::Tensor& x, const BlockContext& context, const at::Tensor& memory = {});
  /// Queries, keys and values of x [B, N, hidden] without positions, with weights that get no gradient.
  Heads heads_of_fixed(const at::Tensor& x) const;
  /// Takes keys and values of rows x [B, M, hidden] into `state`.
  void remember(const at::Tensor& x, attention::AttentionState& state);
  /// The canonical string of the mechanism.
  std::string description() const;
  /// Of the mechanism, before the first token.
  std::unique_ptr<attention::AttentionState> initial_state() const { return mechanism_->initial_state(); }
  /// Takes what the layers of a model share from layer 0. Errors: those of AttentionImpl::share().
  void share(SelfAttentionImpl& first) { mechanism_->share(*first.mechanism_); }
  /// What it took: leaves of this layer that another has registered.
  std::vector<at::Tensor> shared_parameters() const { return mechanism_->shared_parameters(); }
  /// Learned companions that the mechanism attends to; they come as `memory` of a call.
  std::int64_t latents() const noexcept { return mechanism_->spec().latents; }
  /// Tokens of a block whose sum the mechanism attends to; the sums come as `memory` of a call. 0: it attends to none.
  std::int64_t summed_block() const noexcept { return mechanism_->spec().summed_block; }
  /// Whether the first rows of x are companions (AttentionContext::companions).
  bool has_companions() const noexcept { return mechanism_->spec().companions; }
  /// Whether the mechanism asks for positions bound to `input`.
  bool needs_input() const noexcept { return mechanism_->spec().needs_input; }

  Linear qkv{nullptr};            ///< hidden -> (heads + 2 key_value_heads) * head_dim: queries, keys, values
  Linear query_key{nullptr};      ///< hidden -> heads * head_dim, where the mechanism has one projection of both
  Linear value{nullptr};          ///< hidden -> heads * head_dim, next to query_key
  Linear output{nullptr};         ///< heads * head_dim -> hidden
  Linear global_output{nullptr};  ///< the same for companions, where there are any

 protected:
  /// Heads of x -> [B, H, N, D], by the mechanism.
  virtual at::Tensor attend(const Heads& heads, const at::Tensor& x, const BlockContext& context);
  const BlockConfig& config() const noexcept { return config_; }

 private:
  /// x [B, N, hidden] -> query [B, H, N, D], key and value [B, H_kv, N, D]; query and key are one tensor where the
  /// mechanism has one projection of both.
  Heads heads_of(const at::Tensor& x, const Rotation& rotation);
  /// Keys and values of rows x [B, M, hidden], of which nobody asks anything.
  Heads keys_of(const at::Tensor& x);
  /// Rows [B, N, heads * head_dim] through the output projection of their kind; the first ones are companions.
  at::Tensor projected(const at::Tensor& rows, std::int64_t companions);

  BlockConfig config_;
  std::shared_ptr<attention::AttentionImpl> mechanism_;
};
TORCH_MODULE(SelfAttention);

}  // namespace weft::layers
