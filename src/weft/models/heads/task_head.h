// SPDX-License-Identifier: Apache-2.0
// What stands on top of an encoder: pooler, and the head for one of the tasks of Head, after the code of
// `transformers`.
#pragma once

#include <memory>
#include <string>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/feed_forward.h"
#include "weft/layers/linear.h"
#include "weft/layers/norm.h"
#include "weft/models/blueprint.h"
#include "weft/models/encoder/batch.h"
#include "weft/models/heads/vocabulary_head.h"
#include "weft/models/stack/stack.h"

namespace weft::models {

/// The module tree holds only what the family's head has.
class EncoderHeadImpl : public torch::nn::Module, public layers::KeepsInt8 {
 public:
  /// Storage only.
  EncoderHeadImpl(const EncoderConfig& config, Head head, const HeadPlan& plan, const at::TensorOptions& options);

  /// What the stack gives for `batch`, the token embedding [V, D], the call's dropout seed.
  EncoderOutput forward(const StackOutput& rows, const EncoderBatch& batch, const layers::TokenTable& embedding,
                        const DropoutSeed& seed);
  /// What scores hidden states for a masked-LM head.
  VocabularyScorer scorer(const layers::TokenTable& embedding) const;
  const HeadPlan& plan() const noexcept { return plan_; }
  std::string int8_parameter() const override { return "decoder"; }
  at::Tensor floating() const override { return decoder; }
  std::shared_ptr<const layers::Int8Weight> kept() const override { return int8_; }
  void keep_int8(std::shared_ptr<const layers::Int8Weight> weight) override;

  layers::Linear pooler{nullptr};  ///< D -> D
  layers::Linear dense{nullptr};   ///< D -> hidden: before the vocabulary, the classes (kDense), all scores
                                   ///< (kTransformed) or that of a replaced token; D -> intermediate before labels and
                                   ///< choices (kRelay)
  layers::Norm norm{nullptr};      ///< behind that dense layer, but for kDense and kRelay; behind feed_forward
  layers::FeedForward feed_forward{nullptr};  ///< of Answers::kFeedForward
  layers::Linear projection{nullptr};         ///< to labels, 1 (choices, replaced tokens) or 2 (answers)
  at::Tensor decoder;                         ///< [V, D] unless tied or int8
  at::Tensor bias;                            ///< [V]

 private:
  at::Tensor pooled(const at::Tensor& hidden, const DropoutSeed& seed);
  at::Tensor classes(const StackOutput& rows, const at::Tensor& keep, const DropoutSeed& seed);
  /// Of kDense and kTransformed, for each row of x [..., D].
  at::Tensor class_scores(const at::Tensor& x, const DropoutSeed& seed);
  at::Tensor tags(const at::Tensor& hidden, const DropoutSeed& seed);
  /// One score a row.
  at::Tensor choices(const StackOutput& rows, const at::Tensor& keep, const DropoutSeed& seed);
  /// Of kTransformed, what the projection sees of x [..., D].
  at::Tensor transformed(const at::Tensor& x, double dropout, const DropoutSeed& seed);
  /// Of kRelay, for each row of x [..., D].
  at::Tensor deep_scores(const at::Tensor& x, const DropoutSeed& seed);
  at::Tensor answers(const at::Tensor& hidden, const at::Tensor& question, const DropoutSeed& seed);
  at::Tensor drop(const at::Tensor& x, double probability, const DropoutSeed& seed, std::int64_t site) const;

  Head head_;
  HeadPlan plan_;
  std::shared_ptr<const layers::Int8Weight> int8_;
};
TORCH_MODULE(EncoderHead);

}  // namespace weft::models
