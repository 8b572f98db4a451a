// SPDX-License-Identifier: Apache-2.0
// Weft's own models and those of other people, each by the evaluation of what it was trained for.
#include "weft/runs/evaluate/language.h"

#include <ATen/core/grad_mode.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weft/attention/mechanisms/span/learned_spans.h"
#include "weft/checkpoint/like_transformers.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/checkpoint/patterns/load_with_attention.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/data/text_corpus.h"
#include "weft/fine_tuning/masked_text/masked_text_task.h"
#include "weft/profile/prune/attention_file.h"
#include "weft/tasks/task_model.h"
#include "weft/text/unknown_tokens.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/evaluation/evaluate_masked.h"
#include "weft/training/evaluation/evaluate_pictures.h"
#include "weft/training/run/run_of_model.h"

namespace weft::runs {
namespace {

using formats::Json;

void check_task(const std::string& run, const std::string& task, bool is_decoder) {
  const std::string fits = is_decoder ? "lm" : "mlm";
  require(task.empty() || task == fits, Quoted(run, 4096), " holds a model for ", option("task"), " ", fits, ", found ",
          option("task"), " ", task);
}

// Cut while reading: max_bytes of a large corpus reads no more than that.
std::string text_of(const LanguageConfig& config, const std::string& run, const text::Tokenizer& tokenizer) {
  if (!config.audio.empty()) {
    const data::Content sound = config.audio_channel == "first" ? data::Content::kFirstChannel : data::Content::kSound;
    require(tokenizer.kind() == "bytes", option("audio"), ": sound is bytes, but the model of ", Quoted(run, 4096),
            " has a tokeniser of the kind ", tokenizer.kind());
    return data::TextCorpus(config.audio, config.max_bytes, sound).text();
  }
  std::string text = data::TextCorpus(config.text, config.max_bytes).text();
  text::warn_of_unknown_text(tokenizer, text, quote(run, 4096));
  return text;
}

void require_no_token_scores(const std::string& run, const LanguageConfig& config) {
  require(config.memory <= 0, option("memory"), " is for decoders, and ", Quoted(run, 4096), " is an encoder");
  require(config.compressed_memory < 0, option("compressed_memory"), " is for decoders, and ", Quoted(run, 4096),
          " is an encoder");
  require(config.token_scores.empty(), option("token_scores"), " is for decoders, and ", Quoted(run, 4096),
          " is an encoder");
}

// An encoder of Hugging Face's.
Json evaluate_encoder(const checkpoint::OpenedModel& opened, const LanguageConfig& config,
                      const training::EvaluateOptions& options) {
  const std::string run = opened.path().string();
  require_no_token_scores(run, config);
  require(config.attention.empty(), option("attention"), " is for models of `weft train`, and ", Quoted(run, 4096),
          " is a Hugging Face directory; `weft convert --attention` makes another one of it");
  require(!config.like_transformers, option("like_transformers"),
          " is for decoders whose numbers differ from those of transformers, and ", Quoted(run, 4096),
          " is an encoder");
  tasks::TaskModelOptions open;
  open.head = models::Head::kMaskedLanguageModel;
  const tasks::TaskModel model = tasks::open_task_model(opened, open);
  return training::to_json(
      fine_tuning::evaluate_masked_text(model.model, *model.tokenizer, text_of(config, run, *model.tokenizer),
                                        {config.mask_probability, config.masking, config.seed}, options));
}

// With config.token_scores, each token's score as a line of that file.
Json evaluate_decoder(const models::LanguageModel& model, const text::Tokenizer& tokenizer, const std::string& text,
                      const LanguageConfig& config, training::EvaluateOptions options) {
  if (config.token_scores.empty()) {
    return training::to_json(training::evaluate(model, tokenizer, text, options));
  }
  AtomicFile out(config.token_scores);
  options.scored = [&out](const training::TokenScore& score) {
    const Json line = {{"begin", score.begin}, {"end", score.end}, {"bits", score.bits}, {"hit", score.hit}};
    out.write(formats::print_json(line) + "\n");
  };
  const Json result = training::to_json(training::evaluate(model, tokenizer, text, options));
  out.commit();
  return result;
}

// Spans in tokens, by layer and head.
Json spans_json(const models::LanguageModel& model) {
  const at::NoGradGuard without_gradients;
  Json layers = Json::array();
  for (const auto& layer : attention::span_layers(*model)) {
    const at::Tensor spans = layer->spans().contiguous();
    const auto* const first = spans.const_data_ptr<double>();
    layers.push_back({{"layer", layer->site().layer}, {"spans", std::vector<double>(first, first + spans.numel())}});
  }
  return layers;
}

Json evaluate_own(const models::LanguageModel& model, const checkpoint::OpenedModel& opened,
                  const LanguageConfig& config, const training::EvaluateOptions& options) {
  const std::string run = opened.path().string();
  if (model->config().is_decoder) {
    const LanguageConfig usual;
    const auto refuse = [&](bool is_given, std::string_view field) {
      require(!is_given, option(field), " is for encoders, and ", Quoted(run, 4096), " is a decoder");
    };
    refuse(config.mask_window != usual.mask_window, "mask_window");
    refuse(config.mask_probability != usual.mask_probability, "mask_probability");
    refuse(config.masking != usual.masking, "masking");
    refuse(config.seed != usual.seed, "seed");
  }
  if (!config.images.empty()) {
    require(config.token_scores.empty() && config.context == 0, option("token_scores"), " and ", option("context"),
            " are not for pictures");
    const data::PictureTokens pictures(config.images, config.max_bytes);
    training::check_pictures(model->config(), pictures.shape(), concat(option("images")));
    return training::evaluate_pictures(model, pictures, options);
  }
  const std::unique_ptr<text::Tokenizer> tokenizer = checkpoint::load_tokenizer(opened);
  text::warn_of_small_vocabulary(*tokenizer, model->config().vocab_size, quote(run, 4096));
  const std::string text = text_of(config, run, *tokenizer);
  if (model->config().is_decoder) {
    return evaluate_decoder(model, *tokenizer, text, config, options);
  }
  require_no_token_scores(run, config);
  const data::MaskingOptions masking =
      data::masking_options(*tokenizer, data::mask_id_of(*tokenizer, model->config().vocab_size),
                            config.mask_probability, config.masking, config.seed);
  return training::to_json(training::evaluate_masked(model, *tokenizer, text, masking, options));
}

// With the patterns of config.attention, where they are given.
models::LanguageModel load_own(const checkpoint::OpenedModel& opened, const LanguageConfig& config) {
  if (config.like_transformers) {
    require(config.attention.empty(), option("attention"), " is Weft's own, and ", option("like_transformers"),
            " asks for that of ", "transformers");
    return checkpoint::load_like_transformers(opened);
  }
  const std::optional<profile::AttentionFile> file = profile::attention_file(config.attention);
  if (!file) {
    return checkpoint::load_model(opened, {.attention = config.attention});
  }
  const auto [layers, heads] = opened.facts().reads.stack;
  profile::warn_of_other_model(*file, opened.path());
  return checkpoint::load_with_attention(opened, file->of_stack(layers, heads), file->patterns.directory);
}

// Weft's own models, and decoders of other people.
Json eval_own(const checkpoint::OpenedModel& opened, const std::string& task, const LanguageConfig& config,
              training::EvaluateOptions options) {
  models::LanguageModel model = load_own(opened, config);
  options.behind_zeros = config.like_transformers && checkpoint::like_transformers(opened).behind_zeros;
  check_task(opened.path().string(), task, model->config().is_decoder);
  if (config.memory >= 0) {
    model->set_memory_length(config.memory, concat(option("memory")));
  }
  if (config.compressed_memory >= 0) {
    model->set_compressed_memory_length(config.compressed_memory, concat(option("compressed_memory")));
  }
  Json result = evaluate_own(model, opened, config, options);
  if (result.contains("memory") && model->config().compressed_memory_length > 0) {
    result["compressed_memory"] = model->config().compressed_memory_length;
  }
  if (Json spans = spans_json(model); !spans.empty()) {
    result["spans"] = std::move(spans);
  }
  return result;
}

Json eval_encoder(const checkpoint::OpenedModel& opened, const std::string& task, const LanguageConfig& config,
                  training::EvaluateOptions options) {
  const std::string run = opened.path().string();
  check_task(run, task, false);
  require(!config.text.empty(), option("images"), " and ", option("audio"), " are for decoders, and ", Quoted(run),
          " is an encoder");
  return evaluate_encoder(opened, config, options);
}

using Evaluate = Json (*)(const checkpoint::OpenedModel& opened, const std::string& task, const LanguageConfig& config,
                          training::EvaluateOptions options);
// The last one is there for its error, which names models of both kinds.
constexpr std::array kEvaluations{checkpoint::Way<Evaluate>{checkpoint::Ability::kPredict, eval_own},
                                  checkpoint::Way<Evaluate>{checkpoint::Ability::kDraw, eval_own},
                                  checkpoint::Way<Evaluate>{checkpoint::Ability::kRead, eval_encoder},
                                  checkpoint::Way<Evaluate>{checkpoint::Ability::kPredict, eval_own}};

}  // namespace

Json evaluate_language(const checkpoint::OpenedModel& model, const std::string& task, const LanguageConfig& config,
                       const std::function<void(std::int64_t done, std::int64_t total)>& progress) {
  training::EvaluateOptions options;
  options.context = config.context;
  options.mask_window = config.mask_window;
  options.max_bytes = config.max_bytes;
  options.dtype = training::dtype_of_model(config.dtype, model.root());
  options.characters = config.audio.empty();
  options.progress = progress;
  Json result = way_of(model, kEvaluations)(model, task, config, options);
  result["dtype"] = options.dtype;
  if (model.computes_int8()) {
    result["weights"] = "int8";
  }
  return result;
}

}  // namespace weft::runs
