// SPDX-License-Identifier: Apache-2.0
// A reference for models of the family `etc` (Ainslie et al. 2020; BigBird-ETC, Zaheer et al. 2020, without random
// blocks), with the settings as released: a long input, and a few global tokens with a second embedding table; no
// position embeddings.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "support/layers/global_local_attention.h"
#include "weft/layers/etc/sentence_structure.h"
#include "weft/layers/feed_forward.h"
#include "weft/layers/norm.h"

namespace weft::testing {

struct EtcConfig {
  std::int64_t vocab_size = 30522;
  std::int64_t global_vocab_size = 8;  ///< kinds of global tokens
  std::int64_t segment_types = 16;     ///< of both inputs
  std::int64_t layers = 12;
  std::int64_t intermediate_size = 3072;
  double layer_norm_eps = 1e-12;
  double dropout = 0.1;  ///< of embeddings and of each sublayer
  GlobalLocalConfig attention = {.dropout = 0.1};
};

/// One call, N and G at least 1.
struct EtcInput {
  at::Tensor ids;                   ///< int64 [B, N]
  at::Tensor global_ids;            ///< int64 [B, G], GlobalToken or the caller's own
  at::Tensor segments = {};         ///< int64 [B, N]; undefined: all 1
  at::Tensor global_segments = {};  ///< int64 [B, G]; undefined: all 0
  EtcStructure structure = {};
  DropoutSeed seed;  ///< of dropout
};

/// a = norm(x + attention(x)) for both inputs, each with a norm of its own; y = norm(a + feed_forward(a)), shared by
/// both inputs.
class EtcLayerImpl : public torch::nn::Module {
 public:
  EtcLayerImpl(const EtcConfig& config, std::int64_t layer, const at::TensorOptions& options);
  GlobalLocalRows forward(const GlobalLocalRows& x, const EtcStructure& structure, const DropoutSeed& seed);

  GlobalLocalAttention attention{nullptr};
  layers::Norm attention_norm{nullptr};
  layers::Norm global_attention_norm{nullptr};
  layers::FeedForward feed_forward{nullptr};
  layers::Norm feed_forward_norm{nullptr};

 private:
  at::Tensor dropped(const at::Tensor& rows, const DropoutSeed& seed, std::int64_t site) const;

  std::int64_t layer_;
  double dropout_;
};
TORCH_MODULE(EtcLayer);

/// Embeddings and layers. Label tables begin as published (GlobalLocalAttention); all else is storage, which the caller
/// fills: matrices and tables normal(0, 0.02), biases 0, norms 1.
class EtcEncoderImpl : public torch::nn::Module {
 public:
  /// Errors: kArgument for sizes below 1.
  EtcEncoderImpl(const EtcConfig& config, const at::TensorOptions& options);
  /// -> rows [B, N, hidden] and [B, G, hidden]. `recompute`: layers keep their input alone and run again in the
  /// backward pass. Errors: kArgument for shapes, dtypes and ids outside of their tables.
  GlobalLocalRows forward(const EtcInput& input, bool recompute = false);

  at::Tensor tokens;         ///< [vocab, hidden]
  at::Tensor global_tokens;  ///< [global vocab, hidden]
  at::Tensor segments;       ///< [segment types, hidden], of both inputs
  layers::Norm norm{nullptr};
  layers::Norm global_norm{nullptr};

 private:
  /// What is behind a table: the norm of its input, and dropout.
  at::Tensor embedded(const at::Tensor& rows, layers::Norm& its_norm, const DropoutSeed& seed, std::int64_t site);

  double dropout_;
  std::vector<EtcLayer> layers_;
};
TORCH_MODULE(EtcEncoder);

}  // namespace weft::testing
