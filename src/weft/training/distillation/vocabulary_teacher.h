// SPDX-License-Identifier: Apache-2.0
// A teacher of next or masked tokens: any model directory whose head scores the student's vocabulary. It never learns,
// drops nothing, and answers in the dtype of the run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/checkpoint/open_model.h"
#include "weft/data/masking.h"
#include "weft/models/encoder_model.h"
#include "weft/models/heads/vocabulary_head.h"
#include "weft/models/language_model.h"
#include "weft/text/tokenizer.h"
#include "weft/training/distillation/config.h"

namespace weft::training {

/// What a teacher has to fit.
struct VocabularyStudent {
  const text::Tokenizer& tokenizer;
  std::int64_t vocabulary = 0;  ///< ids that the student scores
  bool is_decoder = false;      ///< predicts the next token; otherwise masked ones
  std::int64_t context = 0;     ///< tokens that a step shows at once
  std::int64_t width = 0;       ///< of the last hidden states
};

class VocabularyTeacher {
 public:
  /// Opens config.distill: an encoder with a masked-lm head, or a model of Weft's own. All but the weights is checked
  /// before these are read. Errors: kArgument naming the directory, what was expected and what was found; as
  /// checkpoint::open_model.
  VocabularyTeacher(const DistillationConfig& config, const VocabularyStudent& student);

  /// What the student has computed of a batch.
  struct Answer {
    at::Tensor hidden;                ///< [B, N, D], with its graph
    models::VocabularyScorer scorer;  ///< of the student
    double smoothing = 0.0;           ///< of the labels
  };
  /// The student's loss: (1 - weight) times its cross entropy and weight times T^2 KL over the labelled places of the
  /// batch, and distill_hidden times the squared difference of the hidden states. The teacher's scores exist for a few
  /// places at once. A scalar with its graph.
  at::Tensor loss(Answer student, const data::Batch& batch);
  void move_to(c10::Device device);

 private:
  /// The two ways to open the directory.
  using Open = torch::nn::Module& (VocabularyTeacher::*)(const checkpoint::OpenedModel& opened,
                                                         const VocabularyStudent& student);
  static const std::array<checkpoint::Way<Open>, 3> kOpenings;
  torch::nn::Module& open_encoder(const checkpoint::OpenedModel& opened, const VocabularyStudent& student);
  torch::nn::Module& open_own(const checkpoint::OpenedModel& opened, const VocabularyStudent& student);
  void check(const VocabularyStudent& student, std::int64_t vocabulary, std::int64_t longest, std::int64_t width) const;
  at::Tensor hidden_states(const data::Batch& batch);

  DistillationConfig config_;
  std::string name_;  // of the directory, for messages
  models::LanguageModel own_{nullptr};
  models::EncoderModel encoder_{nullptr};  // one of the two
};

/// Whether `config` can be a student. Errors: kUnsupported for a model whose loss has parts that are not of its last
/// hidden states, naming the field.
void check_student(const models::TransformerConfig& config);

}  // namespace weft::training
