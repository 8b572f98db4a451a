// SPDX-License-Identifier: Apache-2.0
// Everything random is a function of seed, step and part.
#include "weft/fine_tuning/masked_text/masked_text_task.h"

#include <algorithm>

#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include "weft/attention/devices/placed.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/process_rank.h"
#include "weft/data/resampled_rows.h"
#include "weft/data/token_source.h"
#include "weft/fine_tuning/encoder_task.h"
#include "weft/fine_tuning/masked_text/hidden_sentences.h"
#include "weft/layers/etc/sentence_structure.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/sentence_families.h"
#include "weft/models/heads/model_scorer.h"
#include "weft/text/unknown_tokens.h"
#include "weft/training/evaluation/evaluation_mode.h"
#include "weft/training/task.h"

namespace weft::fine_tuning {
namespace {

at::Tensor repeated(const std::vector<std::int64_t>& ids, std::int64_t rows) {
  return at::tensor(ids, at::kLong).unsqueeze(0).expand({rows, static_cast<std::int64_t>(ids.size())});
}

at::Tensor ignored(const std::vector<std::int64_t>& ids, std::int64_t rows) {
  return at::full({rows, static_cast<std::int64_t>(ids.size())}, data::kIgnoredLabel, at::kLong);
}

}  // namespace

FramedMasking::FramedMasking(const text::HuggingFaceTokenizer& tokenizer, std::int64_t model_ids,
                             const MaskingChoice& choice) {
  const std::optional<std::int64_t> mask = tokenizer.special(text::SpecialRole::kMask);
  require(mask.has_value(), "masked text: the tokeniser has no mask token");
  require(tokenizer.vocabulary_size() <= model_ids, "masked text: the tokeniser has ", tokenizer.vocabulary_size(),
          " ids, but the model only ", model_ids);
  masking_ = data::masking_options(tokenizer, *mask, choice.probability, choice.unit, choice.seed);
  const text::Encoding letter = tokenizer.encode_windows("a").front();
  const auto is_text = [](std::int64_t special) { return special == 0; };
  const auto begin = std::find_if(letter.special_mask.begin(), letter.special_mask.end(), is_text);
  require(begin != letter.special_mask.end(), "masked text: the tokeniser makes no token of a letter");
  const auto end = std::find_if(letter.special_mask.rbegin(), letter.special_mask.rend(), is_text);
  before_.assign(letter.ids.begin(), letter.ids.begin() + (begin - letter.special_mask.begin()));
  after_.assign(letter.ids.end() - (end - letter.special_mask.rbegin()), letter.ids.end());
}

data::Batch FramedMasking::batch(const at::Tensor& tokens, std::int64_t step, std::int64_t part) const {
  return frame(mask(tokens, step, part));
}

data::Batch FramedMasking::frame(const data::Batch& masked) const {
  const std::int64_t rows = masked.input_ids.size(0);
  return {at::cat({repeated(before_, rows), masked.input_ids, repeated(after_, rows)}, 1),
          at::cat({ignored(before_, rows), masked.labels, ignored(after_, rows)}, 1)};
}

namespace {

using formats::Json;

// "mask" in ASCII: dropout's seeds are independent of the masks and the data's order.
constexpr std::uint64_t kMaskedDropoutStream = 0x6D61736B;
constexpr std::uint64_t kSeenDropoutStream = 0x7365656E;  // "seen": of a second pass over the same text

// Tokens of text in a window of `context` tokens.
std::int64_t room_for_text(const models::EncoderConfig& config, const FramedMasking& masking, std::int64_t context) {
  const std::int64_t around = masking.special_tokens();
  require(context > around && context <= config.maximum_length(), "context must be ", around + 1, " to ",
          config.maximum_length(), " tokens for this model, found ", context);
  return context - around;
}

// A batch as a model sees it. What follows from the text beside its tokens, follows from what stood there before.
models::EncoderInput input_of(const data::Batch& batch) {
  models::EncoderInput input;
  input.input_ids = batch.input_ids;
  input.unmasked_ids = data::unmasked_ids(batch);
  return input;
}

// Scores at the masked places only: a vocabulary is large.
models::TokenScores scores_of(models::EncoderModel& model, const data::Batch& batch) {
  const models::EncoderInput input = input_of(batch);
  const at::Tensor states = model->hidden_states(input).flatten(0, 1);
  const at::Tensor all = attention::placed(batch.labels.flatten(), states.device());
  const at::Tensor places = all.ne(data::kIgnoredLabel).nonzero().squeeze(1);
  const at::Tensor labels = all.index_select(0, places);
  const at::Tensor logits = model->vocabulary_logits(states.index_select(0, places));
  return {at::cross_entropy_loss(logits, labels, {}, at::Reduction::None), at::argmax(logits, 1).eq(labels)};
}

MaskingChoice choice_of(const training::TrainerConfig& trainer, const training::TextConfig& text) {
  return {text.mask_probability, text.masking, trainer.seed};
}

}  // namespace

MaskedTextConfig resolved(MaskedTextConfig config) {
  config.model = std::filesystem::absolute(config.model).lexically_normal().string();
  return config;
}

MaskedTextTask::MaskedTextTask(models::EncoderModel model, std::shared_ptr<const text::HuggingFaceTokenizer> tokenizer,
                               const training::TrainerConfig& trainer, const training::TextConfig& text,
                               const MaskedTextConfig& config)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      trainer_(trainer),
      text_(text),
      config_(config),
      masking_(*tokenizer_, model_->config().vocab_size, choice_of(trainer, text)),
      sampler_(data::tokenize_once(std::make_shared<data::TextCorpus>(text.train_text), *tokenizer_),
               {room_for_text(model_->config(), masking_, text.context), trainer.batch_size, parts_per_step(trainer), 0,
                static_cast<std::uint64_t>(trainer.seed)}),
      identity_(training::identity_of(sampler_.source())) {
  require(text.span_loss == 0.0, "span_loss must be 0 for masked text that begins with a model, found ",
          text.span_loss);
  require(text.contrastive_weight == 0.0 || models::encoder_rules(model_->config()).structure != nullptr,
          "contrastive_weight is for models with a global token for each sentence (", models::families_with_sentences,
          "), found ", text.contrastive_weight, " for a ", model_->config().model_type);
  require(trainer.label_smoothing == 0.0, "label_smoothing must be 0 for masked text that begins with a model, found ",
          trainer.label_smoothing);
  if (is_first_process()) {
    const std::string where = quote(config.model, 4096);
    text::warn_of_small_vocabulary(*tokenizer_, model_->config().vocab_size, where);
    data::warn_of_unknown_tokens(sampler_.source(), *tokenizer_, where, "of the training text");
  }
  model_->set_gradient_checkpointing(config.gradient_checkpointing);
  subwords_ = training::subword_sampler(trainer, *tokenizer_);
  if (!text.eval_text.empty()) {
    held_out_ = training::held_out_text(text, *tokenizer_, 1);
  }
}

void MaskedTextTask::learn_from(std::shared_ptr<training::VocabularyTeacher> teacher,
                                const training::DistillationConfig& config) {
  require(teacher == nullptr || text_.contrastive_weight == 0.0,
          "contrastive_weight does not go together with distill, found ", text_.contrastive_weight);
  teacher_ = std::move(teacher);
  distillation_ = config;
}

void MaskedTextTask::move_to(c10::Device device) {
  model_->to(device);
  if (teacher_) {
    teacher_->move_to(device);
  }
}

std::vector<std::pair<std::string, at::Tensor>> MaskedTextTask::parameters() const { return trained_leaves(*model_); }

at::Tensor MaskedTextTask::loss(std::int64_t step, std::int64_t part) {
  at::Tensor tokens = sampler_.tokens(step, part);
  if (subwords_) {
    tokens = data::resampled_rows(tokens, *subwords_, {static_cast<std::uint64_t>(trainer_.seed), step, part});
  }
  const data::Batch batch = masking_.batch(tokens, step, part);
  if (text_.contrastive_weight > 0) {
    return with_contrastive_loss(batch, step, part);
  }
  models::EncoderInput input = input_of(batch);
  input.seed = training::dropout_seed(trainer_, kMaskedDropoutStream, step, part);
  return teacher_ ? teacher_->loss({model_->hidden_states(input), models::scorer_of(*model_)}, batch)
                  : model_->loss(input, {batch.labels, {}, {}});
}

at::Tensor MaskedTextTask::with_contrastive_loss(const data::Batch& batch, std::int64_t step, std::int64_t part) {
  HiddenSentences two = hide_sentences(batch, model_->config(), masking_.mask_id(),
                                       {text_.hidden_sentences, static_cast<std::uint64_t>(trainer_.seed), step, part});
  two.hidden.seed = training::dropout_seed(trainer_, kMaskedDropoutStream, step, part);
  two.seen.seed = training::dropout_seed(trainer_, kSeenDropoutStream, step, part);
  const models::EncoderStates states = model_->states(two.hidden);
  const at::Tensor masked = models::scorer_of(*model_).loss(states.hidden.flatten(0, 1), two.labels.flatten());
  const at::Tensor contrastive =
      layers::contrastive_loss(states.companions, model_->states(two.seen).companions, two.chosen);
  if (sums_.step != step) {
    sums_ = {.step = step};
  }
  sums_.parts += 1;
  sums_.masked += masked.item<double>();
  sums_.contrastive += contrastive.item<double>();
  return masked * (1 - text_.contrastive_weight) + contrastive * text_.contrastive_weight;
}

Json MaskedTextTask::figures() const {
  if (sums_.parts == 0) {
    return Json::object();
  }
  return {{"masked_loss", sums_.masked / sums_.parts}, {"contrastive_loss", sums_.contrastive / sums_.parts}};
}

Json MaskedTextTask::evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) {
  if (!held_out_) {
    return Json::object();
  }
  const training::EvaluateOptions options = training::evaluation_options(trainer_, text_, progress);
  return training::to_json(evaluate_masked_text(model_, *tokenizer_, held_out_->text(text_.max_eval_bytes),
                                                choice_of(trainer_, text_), options));
}

std::optional<std::vector<std::string>> MaskedTextTask::figure_names() {
  return held_out_ ? training::masked_figure_names() : std::vector<std::string>();
}

Json MaskedTextTask::settings() const {
  Json settings = formats::to_json(text_);
  settings.update(formats::to_json(config_));
  settings.update(training::distillation_json(distillation_));
  return settings;
}

void MaskedTextTask::save(const std::filesystem::path& directory) const {
  tokenizer_->save(directory);
  if (modules_) {
    checkpoint::write_sentence_directory(directory, *modules_);
  }
  checkpoint::save_encoder(directory, model_);
}

void MaskedTextTask::load(const std::filesystem::path& directory) {
  checkpoint::EncoderLoadOptions options;
  options.head = models::Head::kMaskedLanguageModel;
  training::copy_leaves(*checkpoint::load_encoder(directory, options), *model_);
}

training::MaskedResult evaluate_masked_text(models::EncoderModel model, const text::HuggingFaceTokenizer& tokenizer,
                                            std::string_view text, const MaskingChoice& choice,
                                            const training::EvaluateOptions& given) {
  const FramedMasking masking(tokenizer, model->config().vocab_size, choice);
  training::EvaluateOptions options = given;
  const std::int64_t context = given.context == 0 ? model->config().maximum_length() : given.context;
  options.context = room_for_text(model->config(), masking, context);
  const training::MaskedScoring scoring = {
      *model, [&](const at::Tensor& tokens, std::int64_t window) { return masking.mask(tokens, window, 0); },
      [&](const data::Batch& window) { return masking.frame(window); },
      [&](const data::Batch& batch) { return scores_of(model, batch); }};
  training::MaskedResult result = training::evaluate_masked(
      scoring, tokenizer.encode(training::first_bytes(text, options.max_bytes, tokenizer)), options);
  result.context = context;
  return result;
}

}  // namespace weft::fine_tuning
