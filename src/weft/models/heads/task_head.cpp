// SPDX-License-Identifier: Apache-2.0
// Heads of the families.
#include "weft/models/heads/task_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/max.h>
#include <ATen/ops/tanh.h>

#include <limits>
#include <tuple>
#include <utility>

#include "weft/core/error.h"
#include "weft/layers/activation.h"
#include "weft/layers/dropout.h"

namespace weft::models {
namespace {

constexpr std::int64_t kHeadLayer = -2;  // of dropout_seed: the embeddings are -1
constexpr double kHidden = 1e6;          // subtracted from the scores of a question's tokens, as in transformers

layers::BlockConfig answer_block(const EncoderConfig& config) {
  layers::BlockConfig block;
  block.hidden_size = config.hidden_size;
  block.intermediate_size = config.intermediate_size;
  block.activation = config.hidden_act;
  return block;
}

/// Scores of the head's projection, 0 where it has none.
std::int64_t projected_width(const EncoderConfig& config, Head head) {
  switch (head) {
    case Head::kSequenceClassification:
    case Head::kTokenClassification:
      return config.num_labels();
    case Head::kQuestionAnswering:
      return 2;
    case Head::kMultipleChoice:
    case Head::kReplacedTokens:
      return 1;
    default:
      return 0;
  }
}

/// By an activation's name in a HeadPlan.
at::Tensor activated(const at::Tensor& x, const std::string& name) {
  return name == "tanh" ? at::tanh(x) : layers::activate(x, layers::parse_activation(name));
}

/// Half of the relay and the largest number of each column over the tokens of a row [B, D]; of a row without tokens
/// half of the relay.
at::Tensor relay_and_largest(const StackOutput& rows, const at::Tensor& keep) {
  at::Tensor satellites = rows.hidden;
  if (keep.defined()) {
    satellites = satellites.masked_fill(keep.logical_not().unsqueeze(2), -std::numeric_limits<double>::infinity());
  }
  at::Tensor largest = std::get<0>(at::max(satellites, 1));
  if (keep.defined()) {
    largest = largest.masked_fill(keep.any(1, true).logical_not(), 0.0);
  }
  return (rows.companions.select(1, 0) + largest) * 0.5;
}

/// [B, N, D] -> [B, D], over the tokens that are kept.
at::Tensor mean_of_tokens(const at::Tensor& hidden, const at::Tensor& keep) {
  if (!keep.defined()) {
    return hidden.mean(1);
  }
  return hidden.masked_fill(keep.logical_not().unsqueeze(2), 0.0).sum(1) / keep.sum(1, true).clamp_min(1);
}

/// The first token of each row that is kept, [B, N, D] -> [B, D].
at::Tensor first_kept(const at::Tensor& hidden, const at::Tensor& keep) {
  if (!keep.defined()) {
    return hidden.select(1, 0);
  }
  const at::Tensor places = keep.to(at::kLong).argmax(1, true).unsqueeze(2).expand({-1, 1, hidden.size(2)});
  return hidden.gather(1, places).select(1, 0);
}

/// Of the dense layer in front of replaced tokens, of classes (kDense), or of labels and choices (kRelay); 0 where
/// there is none.
std::int64_t columns_before_labels(const EncoderConfig& config, Head head, Classifier classifier) {
  if (head == Head::kReplacedTokens) {
    return config.hidden_size;
  }
  if (classifier == Classifier::kDense) {
    return head == Head::kSequenceClassification ? config.hidden_size : 0;
  }
  const bool deep = classifier == Classifier::kRelay && projected_width(config, head) > 0;
  return deep && head != Head::kQuestionAnswering ? config.intermediate_size : 0;
}

}  // namespace

EncoderHeadImpl::EncoderHeadImpl(const EncoderConfig& config, Head head, const HeadPlan& plan,
                                 const at::TensorOptions& options)
    : head_(head), plan_(plan) {
  const std::int64_t width = config.hidden_size;
  std::int64_t seen = plan.width;  // columns of what the projection sees
  const auto linear = [&](const char* name, std::int64_t out, bool has_bias = true) {
    return register_module(name, layers::Linear(seen, out, has_bias, options));
  };
  const auto layer_norm = [&](std::int64_t columns) {
    return register_module("norm", layers::Norm(columns, plan.norm, options));
  };
  if (plan.has_pooler) {
    pooler = linear("pooler", width);
  }
  const bool has_projection = projected_width(config, head) > 0;
  const bool transforms = has_projection && plan.classifier == Classifier::kTransformed;
  if (transforms || (head == Head::kMaskedLanguageModel && plan.dense_vocabulary)) {
    const std::int64_t narrow = transforms || plan.vocabulary_width == 0 ? width : plan.vocabulary_width;
    dense = linear("dense", narrow, plan.dense_bias);
    norm = layer_norm(narrow);
    seen = narrow;
  }
  if (head == Head::kMaskedLanguageModel) {
    decoder = config.tie_word_embeddings ? at::Tensor()
                                         : register_parameter("decoder", at::empty({config.vocab_size, seen}, options));
    bias = plan.vocabulary_bias ? register_parameter("bias", at::empty({config.vocab_size}, options)) : at::Tensor();
  }
  if (const std::int64_t before = columns_before_labels(config, head, plan.classifier); before > 0) {
    dense = linear("dense", before);
    seen = before;
  }
  if (head == Head::kQuestionAnswering && plan.answers == Answers::kFeedForward) {
    feed_forward = register_module("feed_forward", layers::FeedForward(answer_block(config), options));
    norm = layer_norm(width);
  }
  if (has_projection) {
    projection = linear("projection", projected_width(config, head));
  }
}

at::Tensor EncoderHeadImpl::drop(const at::Tensor& x, double probability, const DropoutSeed& seed,
                                 std::int64_t site) const {
  return is_training() ? layers::seeded_dropout(x, probability, layers::dropout_seed(seed, kHeadLayer, site)) : x;
}

at::Tensor EncoderHeadImpl::pooled(const at::Tensor& hidden, const DropoutSeed& seed) {
  const at::Tensor first = pooler(drop(hidden.select(1, 0), plan_.pooler_dropout, seed, 3));
  return activated(first, plan_.pooler_activation);
}

at::Tensor EncoderHeadImpl::deep_scores(const at::Tensor& x, const DropoutSeed& seed) {
  return projection(drop(at::leaky_relu(dense(x)), plan_.class_dropout, seed, 1));
}

at::Tensor EncoderHeadImpl::transformed(const at::Tensor& x, double dropout, const DropoutSeed& seed) {
  return drop(norm(dense->activated(x, layers::parse_activation(plan_.vocabulary_activation))), dropout, seed, 1);
}

at::Tensor EncoderHeadImpl::tags(const at::Tensor& hidden, const DropoutSeed& seed) {
  switch (plan_.classifier) {
    case Classifier::kRelay:
      return deep_scores(hidden, seed);
    case Classifier::kTransformed:
      return projection(transformed(hidden, plan_.tag_dropout, seed));
    default:
      return projection(drop(hidden, plan_.tag_dropout, seed, 1));
  }
}

at::Tensor EncoderHeadImpl::choices(const StackOutput& rows, const at::Tensor& keep, const DropoutSeed& seed) {
  switch (plan_.classifier) {
    case Classifier::kRelay:
      return classes(rows, keep, seed);
    case Classifier::kTransformed: {
      const at::Tensor texts =
          plan_.pooling == Pooling::kMean ? mean_of_tokens(rows.hidden, keep) : first_kept(rows.hidden, keep);
      return projection(transformed(texts, plan_.choice_dropout, seed));
    }
    default:
      return projection(drop(pooled(rows.hidden, seed), plan_.choice_dropout, seed, 1));
  }
}

at::Tensor EncoderHeadImpl::classes(const StackOutput& rows, const at::Tensor& keep, const DropoutSeed& seed) {
  const at::Tensor& hidden = rows.hidden;
  if (plan_.classifier == Classifier::kRelay) {
    return deep_scores(relay_and_largest(rows, keep), seed);
  }
  if (plan_.classifier == Classifier::kPooled) {
    return projection(drop(pooled(hidden, seed), plan_.class_dropout, seed, 1));
  }
  switch (plan_.pooling) {
    case Pooling::kMean:
      return class_scores(mean_of_tokens(hidden, keep), seed);
    case Pooling::kScores:
      return mean_of_tokens(class_scores(hidden, seed), keep);
    default:
      return class_scores(hidden.select(1, 0), seed);
  }
}

at::Tensor EncoderHeadImpl::class_scores(const at::Tensor& x, const DropoutSeed& seed) {
  if (plan_.classifier == Classifier::kTransformed) {
    return projection(transformed(x, plan_.class_dropout, seed));
  }
  const at::Tensor deep = dense(drop(x, plan_.class_dropout, seed, 1));
  return projection(drop(activated(deep, plan_.class_activation), plan_.class_dropout, seed, 2));
}

at::Tensor EncoderHeadImpl::answers(const at::Tensor& hidden, const at::Tensor& question, const DropoutSeed& seed) {
  if (plan_.classifier == Classifier::kTransformed) {
    return projection(transformed(hidden, plan_.answer_dropout, seed));
  }
  const at::Tensor dropped = drop(hidden, plan_.answer_dropout, seed, 1);
  if (plan_.answers == Answers::kProjection) {
    return projection(dropped);
  }
  const at::Tensor deep = drop(feed_forward(dropped), plan_.answer_dropout, seed, 2);
  const at::Tensor scores = projection(norm(deep + hidden));
  return question.defined() ? scores - question.to(scores.scalar_type()).mul(kHidden).unsqueeze(2) : scores;
}

VocabularyScorer EncoderHeadImpl::scorer(const layers::TokenTable& embedding) const {
  const layers::TokenTable own{decoder, int8_};
  const layers::TokenTable& table = own.is_empty() ? embedding : own;
  return {dense, norm, layers::parse_activation(plan_.vocabulary_activation), {table.numbers, bias, table.int8}, 0};
}

void EncoderHeadImpl::keep_int8(std::shared_ptr<const layers::Int8Weight> weight) {
  int8_ = std::move(weight);
  decoder = at::Tensor();
  parameters_.erase("decoder");
}

EncoderOutput EncoderHeadImpl::forward(const StackOutput& rows, const EncoderBatch& batch,
                                       const layers::TokenTable& embedding, const DropoutSeed& seed) {
  const at::Tensor& hidden = rows.hidden;
  EncoderOutput output;
  switch (head_) {
    case Head::kNone:
      output.last_hidden_state = hidden;
      output.companion_hidden_state = rows.companions;
      output.pooler_output = pooler ? pooled(hidden, seed) : at::Tensor();
      break;
    case Head::kMaskedLanguageModel:
      output.logits = scorer(embedding).logits(hidden);
      break;
    case Head::kSequenceClassification:
      output.logits = classes(rows, batch.keep, seed);
      break;
    case Head::kTokenClassification:
      output.logits = tags(hidden, seed);
      break;
    case Head::kQuestionAnswering: {
      const at::Tensor scores = answers(hidden, batch.question, seed);
      output.start_logits = scores.select(2, 0).contiguous();
      output.end_logits = scores.select(2, 1).contiguous();
      break;
    }
    case Head::kMultipleChoice:
      output.logits = choices(rows, batch.keep, seed).view({-1, batch.choices});
      break;
    case Head::kReplacedTokens:
      output.logits = projection(dense->activated(hidden, layers::parse_activation(plan_.replaced_activation)))
                          .select(2, 0)
                          .contiguous();
      break;
  }
  return output;
}

}  // namespace weft::models
