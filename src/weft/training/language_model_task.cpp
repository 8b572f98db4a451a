// SPDX-License-Identifier: Apache-2.0
// Batches, losses and held-out figures of a language model.
#include "weft/training/language_model_task.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/data/resampled_rows.h"
#include "weft/text/word_beginnings.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/evaluation/evaluate_masked.h"

namespace weft::training {
namespace {

using formats::Json;

// "drop" in ASCII: dropout's seeds are independent of the data's order.
constexpr std::uint64_t kDropoutStream = 0x64726F70;

void check_vocabulary(const models::TransformerConfig& model, const text::Tokenizer& tokenizer) {
  const std::int64_t needed = data::model_vocabulary(tokenizer, model.is_decoder);
  require(model.vocab_size >= needed, "vocab_size must be at least ", needed, " (", tokenizer.vocabulary_size(),
          " ids of the tokeniser", model.is_decoder ? "" : " and the mask", "), found ", model.vocab_size);
}

}  // namespace

LanguageModelTask::LanguageModelTask(models::LanguageModel model, std::shared_ptr<const text::Tokenizer> tokenizer,
                                     const TrainerConfig& config)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      config_(config),
      sampler_(sampler_over(std::make_shared<data::TextCorpus>(config.train_text))) {
  check_vocabulary(model_->config(), *tokenizer_);
  masking_ = {config.mask_probability,           tokenizer_->vocabulary_size(),
              model_->config().vocab_size - 1,   static_cast<std::uint64_t>(config.seed),
              data::masked_unit(config.masking), nullptr};
  if (!model_->config().is_decoder && masking_.unit != data::MaskedUnit::kTokens) {
    begins_word_ = text::word_beginnings(*tokenizer_);
    masking_.begins_word = &begins_word_;
  }
  if (config.bpe_dropout > 0 || config.unigram_alpha > 0) {
    subwords_ = text::make_subword_sampler(*tokenizer_, {config.bpe_dropout, config.unigram_alpha});
  }
  if (!config.eval_text.empty()) {
    held_out_ = std::make_shared<data::TextCorpus>(config.eval_text);
  }
}

data::WindowSampler LanguageModelTask::sampler_over(const std::shared_ptr<const data::TextCorpus>& corpus) const {
  return {data::tokenize(corpus, *tokenizer_),
          {config_.context, config_.batch_size, parts_per_step(config_), model_->config().is_decoder ? 1 : 0,
           static_cast<std::uint64_t>(config_.seed)}};
}

std::vector<std::pair<std::string, at::Tensor>> LanguageModelTask::parameters() const {
  std::vector<std::pair<std::string, at::Tensor>> result;
  for (const auto& parameter : model_->named_parameters()) {
    result.emplace_back(parameter.key(), parameter.value());
  }
  return result;
}

data::Batch LanguageModelTask::batch(std::int64_t step, std::int64_t part) const {
  at::Tensor tokens = sampler_.tokens(step, part);
  if (subwords_) {
    tokens = data::resampled_rows(tokens, *subwords_, {static_cast<std::uint64_t>(config_.seed), step, part});
  }
  if (model_->config().is_decoder) {
    return data::causal_batch(tokens);
  }
  return data::masked_batch(tokens, masking_, step, part);
}

at::Tensor LanguageModelTask::loss(std::int64_t step, std::int64_t part) {
  const data::Batch shown = batch(step, part);
  const std::uint64_t seed = random_bits(static_cast<std::uint64_t>(config_.seed) ^ kDropoutStream,
                                         static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part));
  return model_->loss(models::ModelInput{shown.input_ids, {}, {}, seed}, shown.labels, config_.label_smoothing);
}

Json LanguageModelTask::evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) {
  if (!held_out_) {
    return Json::object();
  }
  EvaluateOptions options;
  options.context = config_.context;
  options.batch_tokens = std::max(options.context, std::min(options.batch_tokens, tokens(0, 0)));
  options.dtype = config_.dtype;
  options.progress = progress;
  const std::string text = held_out_->text(config_.max_eval_bytes);
  return model_->config().is_decoder ? to_json(training::evaluate(model_, *tokenizer_, text, options))
                                     : to_json(evaluate_masked(model_, *tokenizer_, text, masking_, options));
}

Json LanguageModelTask::data_identity() const {
  char print[17];
  std::snprintf(print, sizeof print, "%016llx", static_cast<unsigned long long>(data::fingerprint(sampler_.source())));
  return {{"tokens", sampler_.source().size()}, {"fingerprint", print}};
}

void LanguageModelTask::save(const std::filesystem::path& directory) const {
  checkpoint::save_model(directory, model_, *tokenizer_);
}

void LanguageModelTask::load(const std::filesystem::path& directory) {
  const at::NoGradGuard no_grad;
  const models::LanguageModel loaded = checkpoint::load_model(directory);
  // Into the parameters that the optimiser holds already: it must not be left with the old tensors.
  const auto source = loaded->named_parameters();
  for (auto& parameter : model_->named_parameters()) {
    parameter.value().copy_(source[parameter.key()]);
  }
}

}  // namespace weft::training
