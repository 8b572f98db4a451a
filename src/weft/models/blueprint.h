// SPDX-License-Identifier: Apache-2.0
// What every family becomes: the plan of a model before its weights. Whatever is told apart by family is said here, and
// stacks, heads and calls are made of it without knowing which family it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/stack/stack_config.h"

namespace weft::models {

/// What a classification head reads.
enum class Classifier {
  kPooled,       ///< the pooled first token, one projection (BERT)
  kDense,        ///< the tokens themselves, a dense layer with activation, then the projection (RoBERTa)
  kTransformed,  ///< the tokens through the layers before a vocabulary; so do tags, choices and answers (ModernBERT)
  kRelay,  ///< half the sum of the relay and each column's largest number, two layers; tags have them, too (fastNLP)
};

/// What kDense and kTransformed score labels of a text from.
enum class Pooling {
  kFirst,   ///< its first token
  kMean,    ///< the mean of its tokens
  kScores,  ///< each token, and the text has the mean of their scores (EuroBERT)
};

/// How the places of an answer are scored.
enum class Answers {
  kProjection,   ///< each token by one projection
  kFeedForward,  ///< through a feed-forward with a residual and a norm, and none of the question's tokens (BigBird)
};

/// The layers of a family's heads, and what lies between them. Activations are those of a config, or "tanh".
struct HeadPlan {
  std::int64_t width = 0;  ///< columns of the last hidden states
  std::int64_t vocabulary_width =
      0;                    ///< of the table that scores the vocabulary, and of the dense layer before; 0: width
  bool has_pooler = false;  ///< there is one under this head
  Classifier classifier = Classifier::kPooled;
  Answers answers = Answers::kProjection;
  Pooling pooling = Pooling::kFirst;
  bool dense_vocabulary = true;  ///< the masked-lm head has a dense layer and a norm before the product
  bool dense_bias = true;        ///< that dense layer has a bias
  bool vocabulary_bias = true;   ///< so has the product
  layers::NormConfig norm = {};
  std::string vocabulary_activation = "gelu";  ///< behind that dense layer
  std::string pooler_activation = "tanh";
  std::string class_activation = "tanh";     ///< behind the dense layer of Classifier::kDense
  std::string replaced_activation = "gelu";  ///< behind that of Head::kReplacedTokens
  double pooler_dropout = 0.0;               ///< of what the pooler sees
  double class_dropout = 0.0;                ///< of what labels of texts are scored from
  double tag_dropout = 0.0;                  ///< of what labels of tokens are scored from
  double choice_dropout = 0.0;               ///< of what a choice is scored from
  double answer_dropout = 0.0;               ///< of what the places of an answer are scored from

  /// Whether training drops anything in one of the heads.
  bool drops() const {
    return std::max({pooler_dropout, class_dropout, tag_dropout, choice_dropout, answer_dropout}) > 0.0;
  }
};

/// How the rows of a call go through the stack.
struct PassSettings {
  std::int64_t full_until = -1;  ///< tokens of the longest row that is computed with full attention; -1: none is
  bool pad_like_hf = false;      ///< see EncoderOptions
  std::string random = {};       ///< big_bird's plan, for computed()
  std::int64_t block = 1;        ///< that pad_like_hf pads to
  std::int64_t padding_id = 0;
  std::int64_t position_rows = 0;  ///< of the position table
  bool zeroes_padding = false;     ///< padded rows of attention are zeros in transformers too: pad_like_hf is idle
  std::string always_full =
      {};  ///< why every input is computed with full attention, though the family's own is another
};

/// What a model asks of memory and processor beyond what its blocks and width say.
struct Costs {
  std::int64_t inner_width = 0;                                      ///< numbers that a token has inside of a layer
  std::vector<std::pair<std::int64_t, std::int64_t>> products = {};  ///< [inner, outer] of a layer's matrices
};

/// An encoder of any family.
struct Blueprint {
  StackConfig stack;
  HeadPlan head;
  PassSettings passes;
};

/// An encoder-decoder of any family.
struct PairBlueprint {
  StackConfig encoder;
  StackConfig decoder;
  PassSettings passes;       ///< of the encoder
  double score_scale = 1.0;  ///< of what the decoder gives, before the product with the vocabulary
};

}  // namespace weft::models
