// SPDX-License-Identifier: Apache-2.0
// Multi-head attention from one text to another: a decoder's queries against the keys and values of an encoder's last
// hidden states (Vaswani et al. 2017, section 3.2.3), around any mechanism that takes two texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/attention/mechanism.h"
#include "weft/layers/attention/watched.h"
#include "weft/layers/block_config.h"
#include "weft/layers/linear.h"

namespace weft::layers {

/// Keys and values of a source in one layer.
struct SourceHeads {
  at::Tensor key;    ///< [B, H_kv, S, D]
  at::Tensor value;  ///< [B, H_kv, S, D]
};

/// What the blocks of a decoder read of an encoder: a batch of B source texts of S tokens. Several rows of the target
/// may read one text (the beams of a search): its keys and values then lie in memory once.
struct Source {
  at::Tensor hidden;                    ///< [B, S, hidden], the encoder's last; not looked at where `heads` are there
  attention::AttentionContext padding;  ///< `key_keep` [B, S] and the key lengths of `rows`; nothing else is looked at
  std::vector<SourceHeads> heads = {};  ///< of each layer, projected once for all tokens that are decoded; or empty
  std::int64_t readers = 1;             ///< row b of the target reads text b / readers

  /// Row b is what row rows[b] of this source is, rows int64 [B'] on the same device: the source of a DecodingState
  /// that is reordered. Errors: kArgument for a row that is not there.
  Source reordered(const at::Tensor& rows) const;
};

/// The weights of one layer's cross-attention, for whoever asks where a target looks in its source.
struct CrossWeights {
  std::int64_t layer = 0;
  /// [B, H, N, S], without dropout, differentiable; filled in by the call. Rows of padding mean nothing.
  at::Tensor weights = {};
};

/// softmax(Q K^T / sqrt(D)) V with Q = W_Q x, K = W_K s, V = W_V s, by a mechanism whose queries are the
/// positions of x (behind those of the cache, where one decodes) and whose keys are those of s. No positions are
/// turned.
class CrossAttentionImpl : public torch::nn::Module, public WatchedLayer {
 public:
  /// Errors: those of make_attention(); kUnsupported where the mechanism names `input`, which has no meaning here.
  CrossAttentionImpl(const BlockConfig& config, const at::TensorOptions& options);
  /// x [B, N, hidden] -> [B, N, hidden]; context.source has B / readers texts. Where the mechanism ignores positions of
  /// queries, the readers of a text are queries of one call; elsewhere each gets a copy of its keys for the call.
  /// Where context.weights names this layer, it is filled in. Errors: kArgument without a source, with one whose
  /// `heads` are those of fewer layers, and for weights of a source that several rows read.
  at::Tensor forward(const at::Tensor& x, const BlockContext& context);
  /// Keys and values of hidden [B, S, hidden].
  SourceHeads project(const at::Tensor& hidden);
  /// The canonical string of the mechanism.
  std::string description() const { return mechanism_->description(); }

  Linear query{nullptr};      ///< hidden -> heads * head_dim
  Linear key_value{nullptr};  ///< hidden -> 2 key_value_heads * head_dim: keys, values
  Linear output{nullptr};     ///< heads * head_dim -> hidden

 private:
  /// `weights` may be null.
  at::Tensor attend(const at::Tensor& x, const SourceHeads& heads, const attention::AttentionContext& both,
                    CrossWeights* weights = nullptr);
  /// Padding of both texts, and the position and dropout of the call.
  attention::AttentionContext describe(const Source& source, const attention::AttentionContext& target) const;

  BlockConfig config_;
  std::shared_ptr<attention::AttentionImpl> mechanism_;
};
TORCH_MODULE(CrossAttention);

}  // namespace weft::layers
