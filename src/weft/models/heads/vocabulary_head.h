// SPDX-License-Identifier: Apache-2.0
// From the last hidden states to scores over the vocabulary. A decoder's head is one product; that of a masked language
// model is dense layer, activation, layer norm, product and bias (Devlin et al. 2019, as released).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/activation.h"
#include "weft/layers/adaptive/softmax.h"
#include "weft/layers/embeddings.h"
#include "weft/layers/inference/packed_weight.h"
#include "weft/layers/linear.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/layers/norm.h"
#include "weft/layers/replay/kept_operands.h"
#include "weft/models/heads/span_boundary.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// Forms of a head's table that the tokens of a decoder are multiplied by, one after the other.
struct StepForms {
  layers::PackedWeight packed;
  layers::KeptOperands operands;
};

/// scores = h W^T, or norm(activation(T h + t)) W^T + b, or those of a vocabulary in clusters. The parts of a head that
/// does so, whatever it calls them; a part that it lacks is null or undefined.
struct VocabularyScorer {
  layers::Linear transform{nullptr};  ///< T and t, D -> D
  layers::Norm norm{nullptr};
  layers::Activation activation = layers::Activation::kGelu;
  layers::HeadWeights weights;                          ///< W [V, D] and b [V]
  std::int64_t chunk = 0;                               ///< positions whose scores exist at once in a loss; 0 chooses
  std::optional<layers::AdaptiveScorer> adaptive = {};  ///< in place of all of them

  /// hidden [..., D] -> [..., V], float32 or wider; of a vocabulary in clusters logarithms of probabilities.
  at::Tensor logits(const at::Tensor& hidden);
  /// The same of a token that is decoded: `forms` keeps one of W where PackedWeight or KeptOperands serve the product.
  at::Tensor step_logits(const at::Tensor& hidden, StepForms& forms);
  /// hidden [T, D], labels int64 [T] on any device -> mean nats, see layers::linear_cross_entropy. Errors: kUnsupported
  /// for smoothing over a vocabulary in clusters.
  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& labels, double smoothing = 0.0);
  /// hidden [T, D], labels [T] -> [T] each, no gradient.
  layers::LabelScores token_scores(const at::Tensor& hidden, const at::Tensor& labels);
  /// What the product with W sees of hidden [..., D].
  at::Tensor transformed(const at::Tensor& hidden);
};

/// The head of Weft's own models.
class LanguageModelHeadImpl : public torch::nn::Module, public layers::KeepsInt8 {
 public:
  /// Storage only. The token embeddings come with each call, and serve as the weight when the config ties them.
  LanguageModelHeadImpl(const TransformerConfig& config, const at::TensorOptions& options);
  /// What scores hidden states.
  VocabularyScorer scorer(const layers::EmbeddingsImpl& embeddings) const;
  /// The scores of a token that is decoded, hidden [B, D] -> [B, V], from a packed form of the table where it pays.
  at::Tensor step_scores(const layers::EmbeddingsImpl& embeddings, const at::Tensor& hidden) const;
  /// As layers::LinearImpl::train().
  void train(bool on = true) override;
  /// Mean nats of the span-boundary objective over the spans of labels [B, N]; 0 where there are none. hidden [B, N,
  /// D].
  at::Tensor span_loss(const at::Tensor& hidden, const layers::EmbeddingsImpl& embeddings, const at::Tensor& labels);

  std::string int8_parameter() const override { return "weight"; }
  at::Tensor floating() const override { return weight; }
  std::shared_ptr<const layers::Int8Weight> kept() const override { return int8_; }
  void keep_int8(std::shared_ptr<const layers::Int8Weight> given) override;

  at::Tensor weight;                  ///< [V, D] unless tied, in clusters or int8
  at::Tensor bias;                    ///< [V], encoders and decoders whose config has it
  layers::Linear transform{nullptr};  ///< D -> D, encoders; null with lm_head_bias: then their head is one product
  layers::Norm transform_norm{nullptr};
  SpanBoundaryHead span_boundary{nullptr};  ///< where the config has the objective
  layers::AdaptiveHead clusters{nullptr};   ///< named `vocabulary`, where the vocabulary is in clusters

 private:
  layers::Activation activation_;
  std::int64_t chunk_;
  std::shared_ptr<const layers::Int8Weight> int8_;
  std::unique_ptr<StepForms> forms_ = std::make_unique<StepForms>();
};
TORCH_MODULE(LanguageModelHead);

}  // namespace weft::models
