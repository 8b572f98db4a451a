// SPDX-License-Identifier: Apache-2.0
// Batches, losses and held-out figures of a language model.
#include "weft/training/language_model_task.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

#include "weft/attention/mechanisms/linear/redrawn_features.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/data/resampled_rows.h"
#include "weft/data/token_source.h"
#include "weft/models/families/sentence_families.h"
#include "weft/models/heads/model_scorer.h"
#include "weft/text/unknown_tokens.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/evaluation/evaluate_masked.h"
#include "weft/training/evaluation/evaluate_pictures.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/run_directory.h"
#include "weft/training/task.h"

namespace weft::training {
namespace {

using formats::Json;

// "drop" in ASCII: dropout's seeds are independent of the data's order.
constexpr std::uint64_t kDropoutStream = 0x64726F70;

// What the config names, as tokens. Errors: kArgument where the model was made for other things.
std::shared_ptr<const data::TokenSource> source_of(const TextConfig& config, const models::TransformerConfig& model,
                                                   const text::Tokenizer& tokenizer) {
  models::check_context(model, config.context);
  if (data_kind(config) == DataKind::kPictures) {
    auto pictures = std::make_shared<data::PictureTokens>(config.train_images);
    check_pictures(model, pictures->shape(), "train_images");
    require(config.context == pictures->shape().bytes(), "context: a window is a whole picture of ",
            pictures->shape().bytes(), " bytes, found ", config.context, "; leave it out");
    return pictures;
  }
  require(model.picture_shape.empty(), training_field(config), ": the model was made for pictures, found ",
          data_kind(config) == DataKind::kText ? "text" : "sound");
  require(data_kind(config) == DataKind::kText || tokenizer.kind() == "bytes",
          "train_audio: sound is bytes, but the model has a tokeniser of the kind ", tokenizer.kind());
  return data::tokenize_once(corpus_of(config, training_paths(config)), tokenizer);
}

void check_vocabulary(const models::TransformerConfig& model, const text::Tokenizer& tokenizer) {
  const std::int64_t needed = tokenizer.vocabulary_size();
  require(!model.is_decoder || model.vocab_size >= needed, "vocab_size must be at least ", needed, " (", needed,
          " ids of the tokeniser), found ", model.vocab_size);
}

}  // namespace

LanguageModelTask::LanguageModelTask(models::LanguageModel model, std::shared_ptr<const text::Tokenizer> tokenizer,
                                     const TrainerConfig& trainer, const TextConfig& config, std::string began_with)
    : model_(std::move(model)),
      spans_(attention::span_layers(*model_)),
      tokenizer_(std::move(tokenizer)),
      trainer_(trainer),
      config_(config),
      began_with_(std::move(began_with)),
      source_(source_of(config, model_->config(), *tokenizer_)),
      sampler_(source_, sampler_options()) {
  check_vocabulary(model_->config(), *tokenizer_);
  require(!model_->config().adaptive_vocabulary() || trainer.label_smoothing == 0.0,
          "label_smoothing must be 0 for a vocabulary in clusters (vocabulary_cutoffs), found ",
          trainer.label_smoothing);
  require(config.contrastive_weight == 0.0, "contrastive_weight is for models with a global token for each sentence (",
          models::families_with_sentences, "), found ", config.contrastive_weight, " for a model that has none");
  require(config.span_loss == 0.0 || !spans_.empty(), "span_loss: no layer of the model learns spans; for example ",
          option("attention"), " 'span(max=1024)' does");
  if (processes().is_first()) {
    const std::string where = began_with_.empty() ? "the run" : quote(began_with_, 4096);
    text::warn_of_small_vocabulary(*tokenizer_, model_->config().vocab_size, where);
    data::warn_of_unknown_tokens(sampler_.source(), *tokenizer_, where, "of the training text");
  }
  if (!model_->config().is_decoder) {
    masking_ = data::masking_options(*tokenizer_, data::mask_id_of(*tokenizer_, model_->config().vocab_size),
                                     config.mask_probability, config.masking, trainer.seed);
  }
  subwords_ = subword_sampler(trainer, *tokenizer_);
  if (model_->config().memory_length > 0) {
    remember_streams();
  }
  if (!held_out_paths(config).empty()) {
    open_held_out();
  }
  identity_ = identity_of(sampler_.source());
}

void LanguageModelTask::open_held_out() {
  if (data_kind(config_) == DataKind::kPictures) {
    held_out_pictures_ = std::make_unique<data::PictureTokens>(config_.eval_images, config_.max_eval_bytes);
    check_pictures(model_->config(), held_out_pictures_->shape(), "eval_images");
  } else {
    held_out_ = held_out_text(config_, *tokenizer_, model_->config().is_decoder ? 2 : 1);
  }
}

data::SamplerOptions LanguageModelTask::sampler_options() const {
  return {config_.context,
          trainer_.batch_size,
          parts_per_step(trainer_),
          model_->config().is_decoder ? 1 : 0,
          static_cast<std::uint64_t>(trainer_.seed),
          stream_tokens(config_, model_->config().memory_length),
          data_kind(config_) == DataKind::kPictures};
}

void LanguageModelTask::remember_streams() {
  // Another process would have its memories, and the first one alone writes checkpoints.
  require(processes().is_alone() && trainer_.processes <= 1,
          "memory_length: a model with a memory is trained by one process, found ",
          std::max<std::int64_t>(processes().size(), trainer_.processes));
  require(subwords_ == nullptr,
          "memory_length: bpe_dropout and unigram_alpha must be 0, because a text in other tokens "
          "does not go on where its segment ends");
  streams_.emplace(source_, sampler_options());
  memory_.emplace(parts_per_step(trainer_));
}

void LanguageModelTask::learn_from(std::shared_ptr<VocabularyTeacher> teacher, const DistillationConfig& config) {
  teacher_ = std::move(teacher);
  distillation_ = config;
}

void LanguageModelTask::move_to(c10::Device device) {
  model_->to(device);
  if (teacher_) {
    teacher_->move_to(device);
  }
}

std::vector<std::pair<std::string, at::Tensor>> LanguageModelTask::parameters() const { return leaves_of(*model_); }

data::Batch LanguageModelTask::batch(std::int64_t step, std::int64_t part) const {
  at::Tensor tokens = streams_ ? streams_->tokens(step, part) : sampler_.tokens(step, part);
  if (subwords_) {
    tokens = data::resampled_rows(tokens, *subwords_, {static_cast<std::uint64_t>(trainer_.seed), step, part});
  }
  if (model_->config().is_decoder) {
    return data::causal_batch(tokens);
  }
  return data::masked_batch(tokens, masking_, step, part);
}

at::Tensor LanguageModelTask::loss(std::int64_t step, std::int64_t part) {
  const data::Batch shown = batch(step, part);
  models::ModelInput input{shown.input_ids, {}, {}, dropout_seed(trainer_, kDropoutStream, step, part), {}};
  if (memory_) {
    input.memory = memory_->begin(step, part, streams_->goes_on(step));
  }
  at::Tensor loss =
      teacher_
          ? teacher_->loss({model_->hidden_states(input), models::scorer_of(*model_), trainer_.label_smoothing}, shown)
          : model_->loss(input, shown.labels, trainer_.label_smoothing);
  if (config_.span_loss == 0.0) {
    return loss;
  }
  // Its gradient alone: the loss that a run reports stays comparable with that of other models.
  const at::Tensor price = (config_.span_loss * attention::sum_of_mean_spans(spans_)).to(loss.scalar_type());
  return loss + (price - price.detach());
}

void LanguageModelTask::after_step(std::int64_t done, std::uint64_t seed) {
  attention::redraw_features(*model_, done, seed);
  for (const auto& layer : spans_) {
    layer->constrain();
  }
}

Json LanguageModelTask::figures() const {
  if (spans_.empty()) {
    return Json::object();
  }
  const attention::SpanSummary summary = attention::summarize_spans(spans_);
  return {{"mean_span", summary.mean}, {"largest_span", summary.largest}};
}

Json LanguageModelTask::evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const EvaluateOptions options = evaluation_options(trainer_, config_, progress);
  if (held_out_pictures_) {
    return evaluate_pictures(model_, *held_out_pictures_, options);
  }
  if (!held_out_) {
    return Json::object();
  }
  const std::string text = held_out_->text(config_.max_eval_bytes);
  return model_->config().is_decoder ? to_json(training::evaluate(model_, *tokenizer_, text, options))
                                     : to_json(evaluate_masked(model_, *tokenizer_, text, masking_, options));
}

std::optional<std::vector<std::string>> LanguageModelTask::figure_names() {
  if (held_out_pictures_) {
    return picture_figure_names();
  }
  if (!held_out_) {
    return std::vector<std::string>();
  }
  if (!model_->config().is_decoder) {
    return masked_figure_names();
  }
  return training::figure_names(held_out_->text(config_.max_eval_bytes), data_kind(config_) == DataKind::kText);
}

Json LanguageModelTask::settings() const {
  Json settings = formats::to_json(config_);
  if (!began_with_.empty()) {
    settings.update({{"task", model_->config().is_decoder ? "lm" : "mlm"}, {"model", began_with_}});
  }
  settings.update(distillation_json(distillation_));
  return settings;
}

void LanguageModelTask::save(const std::filesystem::path& directory) const {
  checkpoint::save_model(directory, model_, *tokenizer_);
}

void LanguageModelTask::load(const std::filesystem::path& directory) {
  copy_leaves(*checkpoint::load_model(directory), *model_);
}

void LanguageModelTask::save_state(const std::filesystem::path& checkpoint) const {
  if (memory_) {
    memory_->save(checkpoint / kMemoryFile);
  }
}

void LanguageModelTask::load_state(const std::filesystem::path& checkpoint, std::int64_t step) {
  if (memory_) {
    const models::TransformerConfig& model = model_->config();
    // Tokens that do not fill a row stay in the memory.
    const std::int64_t most =
        model.memory_length + (model.compressed_memory_length > 0 ? model.compression_rate - 1 : 0);
    memory_->load(
        ModelFile(checkpoint, kMemoryFile), step,
        {model.num_hidden_layers, trainer_.batch_size, most, model.hidden_size, model.compressed_memory_length});
  }
}

}  // namespace weft::training
