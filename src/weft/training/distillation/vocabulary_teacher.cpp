// SPDX-License-Identifier: Apache-2.0
// Two kinds of directories, one loss.
#include "weft/training/distillation/vocabulary_teacher.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mse_loss.h>

#include "weft/attention/devices/placed.h"
#include "weft/attention/mechanisms/spec.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/layers/soft_targets.h"
#include "weft/models/heads/model_scorer.h"
#include "weft/training/distillation/same_vocabulary.h"

namespace weft::training {
namespace {

using checkpoint::Ability;
using checkpoint::Way;

const char* learns(bool is_decoder) { return is_decoder ? "the next token" : "masked tokens"; }

}  // namespace

const std::array<Way<VocabularyTeacher::Open>, 3> VocabularyTeacher::kOpenings{
    Way<Open>{Ability::kPredict, &VocabularyTeacher::open_own}, Way<Open>{Ability::kDraw, &VocabularyTeacher::open_own},
    Way<Open>{Ability::kRead, &VocabularyTeacher::open_encoder}};

VocabularyTeacher::VocabularyTeacher(const DistillationConfig& config, const VocabularyStudent& student)
    : config_(config), name_(concat("distill: ", quote(config.distill, 4096))) {
  const checkpoint::OpenedModel opened = checkpoint::open_model(config.distill);
  opened.prefer(models::Head::kMaskedLanguageModel);
  const Open open = way_of(opened, kOpenings);
  const bool is_decoder = opened.facts().reads.is_causal;
  require(is_decoder == student.is_decoder, name_, " predicts ", learns(is_decoder), ", and the student ",
          learns(student.is_decoder));
  const std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(config.distill, opened.json());
  const auto difference = vocabulary_difference(student.tokenizer, *tokenizer);
  require(!difference, name_, " must have the vocabulary of the student: ", difference.value_or(""));
  torch::nn::Module& model = (this->*open)(opened, student);
  model.eval();
  for (at::Tensor& parameter : model.parameters()) {
    parameter.set_requires_grad(false);
  }
}

torch::nn::Module& VocabularyTeacher::open_encoder(const checkpoint::OpenedModel& opened,
                                                   const VocabularyStudent& student) {
  require(opened.head() == models::Head::kMaskedLanguageModel, name_, " must have the head ",
          to_string(models::Head::kMaskedLanguageModel), ", found ", to_string(opened.head()));
  const checkpoint::ReadingFacts shape = opened.facts(Ability::kRead).reads;
  check(student, shape.vocabulary, shape.longest, shape.width);
  encoder_ = checkpoint::load_encoder(opened);
  return *encoder_;
}

torch::nn::Module& VocabularyTeacher::open_own(const checkpoint::OpenedModel& opened,
                                               const VocabularyStudent& student) {
  const models::TransformerConfig shape = checkpoint::load_config(opened);
  require(shape.memory_length == 0, name_, " must have no memory, because it sees one segment at a time, found ",
          "memory_length ", shape.memory_length);
  for (std::int64_t layer = 0; layer < shape.num_hidden_layers; ++layer) {
    require(!attention::parse_mechanism(shape.attention_of(layer), shape.directory).needs_input, name_, ": layer ",
            layer, " attends by ", Quoted(shape.attention_of(layer)),
            ", but no positions that `input` stands for are given here");
  }
  const bool has_table = models::context_limit(shape).has_value();
  check(student, shape.vocab_size, has_table ? shape.max_position_embeddings : student.context, shape.output_size());
  own_ = checkpoint::load_model(opened);
  return *own_;
}

void VocabularyTeacher::check(const VocabularyStudent& student, std::int64_t vocabulary, std::int64_t longest,
                              std::int64_t width) const {
  require(vocabulary == student.vocabulary, name_, " must score ", student.vocabulary, " ids, as the student, found ",
          vocabulary);
  require(student.context <= longest, name_, " must read ", student.context,
          " tokens, the context of the student, found at most ", longest, "; a smaller context fits it");
  require(config_.distill_hidden == 0.0 || width == student.width, name_, ": distill_hidden needs hidden states of ",
          student.width, " numbers, as the student has, found ", width);
}

at::Tensor VocabularyTeacher::hidden_states(const data::Batch& batch) {
  if (!encoder_.is_empty()) {
    models::EncoderInput input;
    input.input_ids = batch.input_ids;
    input.unmasked_ids = data::unmasked_ids(batch);
    return encoder_->hidden_states(input);
  }
  models::ModelInput input;
  input.input_ids = batch.input_ids;
  return own_->hidden_states(input);
}

void VocabularyTeacher::move_to(c10::Device device) {
  if (encoder_.is_empty()) {
    own_->to(device);
  } else {
    encoder_->to(device);
  }
}

at::Tensor VocabularyTeacher::loss(Answer student, const data::Batch& batch) {
  at::Tensor told;
  {
    const at::NoGradGuard without_gradients;
    told = hidden_states(batch);
  }
  // Before the heads: what is not scored costs nothing.
  const at::Tensor labels = attention::placed(batch.labels, told.device()).flatten();
  const at::Tensor places = labels.ne(layers::kIgnoredLabel).nonzero().squeeze(1);
  const layers::Labelled rows{student.scorer.transformed(student.hidden.flatten(0, 1).index_select(0, places)),
                              labels.index_select(0, places)};
  const at::Tensor teacher_rows = told.flatten(0, 1).index_select(0, places);
  models::VocabularyScorer scorer = encoder_.is_empty() ? models::scorer_of(*own_) : models::scorer_of(*encoder_);
  const layers::SoftTargets targets{[&](std::int64_t begin, std::int64_t count) {
                                      const at::NoGradGuard without_gradients;
                                      return scorer.logits(teacher_rows.narrow(0, begin, count));
                                    },
                                    config_.distill_weight, config_.distill_temperature};
  at::Tensor loss =
      layers::distilled_cross_entropy(rows, student.scorer.weights, targets, student.scorer.chunk, student.smoothing);
  if (config_.distill_hidden == 0.0) {
    return loss;
  }
  const at::ScalarType sums = loss.scalar_type();
  return loss + at::mse_loss(student.hidden.to(sums), told.to(sums)).mul(config_.distill_hidden);
}

void check_student(const models::TransformerConfig& config) {
  const char* wrong = config.adaptive_vocabulary()          ? "vocabulary_cutoffs"
                      : config.span_boundary_objective      ? "span_boundary_objective"
                      : config.compressed_memory_length > 0 ? "compressed_memory_length"
                                                            : nullptr;
  if (wrong != nullptr) {
    fail(ErrorKind::kUnsupported, "distill: a student cannot have ", wrong,
         ", whose loss is not one over the vocabulary");
  }
}

}  // namespace weft::training
