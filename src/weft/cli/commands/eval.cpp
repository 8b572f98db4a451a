// SPDX-License-Identifier: Apache-2.0
// `weft eval`: bits per byte of held-out text, pictures or sound under a trained decoder, masked tokens under an
// encoder; the metrics of a task by eval_task.cpp.
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/attention/mechanisms/span/learned_spans.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/patterns/load_with_attention.h"
#include "weft/checkpoint/published_decoders.h"
#include "weft/checkpoint/reformer/like_transformers.h"
#include "weft/checkpoint/transformer_xl/config_json.h"
#include "weft/cli/commands/eval_task.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/evaluation/eval_pairs.h"
#include "weft/cli/evaluation/task_of_model.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/help.h"
#include "weft/cli/model_argument.h"
#include "weft/cli/output.h"
#include "weft/cli/prune/attention_file.h"
#include "weft/cli/short_help.h"
#include "weft/cli/threads.h"
#include "weft/cli/training/task_flags.h"
#include "weft/cli/watched_progress.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/data/text_corpus.h"
#include "weft/fine_tuning/masked_text/masked_text_task.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/tasks/task_model.h"
#include "weft/text/unknown_tokens.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/evaluation/evaluate_masked.h"
#include "weft/training/evaluation/evaluate_pictures.h"
#include "weft/training/run/run_of_model.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::string_view kEvalExamples =
    "  weft eval run --text held-out.txt\n"
    "  weft eval run --text books/val --context 256 --max-bytes 1000000 --json\n"
    "  weft eval run --text held-out.txt --context 128 --memory 3800\n"
    "  weft eval run --text held-out.txt --attention 'lsh(causal=rank, rounds=8)'\n"
    "  weft eval run --images pictures/val\n"
    "  weft eval run --data test.tsv --predictions predictions.jsonl\n"
    "  weft eval de-en --source val.de --target val.en --attention @prune.json";

struct EvalConfig {
  std::vector<std::string> text;
  std::vector<std::string> images;
  std::vector<std::string> audio;
  std::string audio_channel = "only";
  std::int64_t context = 0;
  std::int64_t memory = -1;
  std::int64_t compressed_memory = -1;
  std::vector<std::string> attention;
  bool like_transformers = false;
  std::int64_t max_bytes = 0;
  std::string dtype = "auto";
  double mask_probability = 0.15;
  std::string masking = "tokens";
  std::int64_t seed = 0;
  std::string token_scores;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EvalConfig;
    visit(Field{"text", &C::text, "text to score: files and folders, in this order"});
    visit(Field{"images", &C::images,
                "pictures to score under a model of pictures: files and folders of PNG, PGM, PPM or CIFAR-10's .bin"});
    visit(Field{"audio", &C::audio, "sound to score under a model of sound: WAV files and folders of them"});
    visit(Field{"audio_channel", &C::audio_channel,
                "only: sound has one channel, any other is an error; first: the first channel of each file is taken"}
              .one_of({"only", "first"}));
    visit(Field{"context", &C::context,
                "tokens that the model reads at once; 0 for the length that the model was made for"}
              .at_least(0));
    visit(Field{"memory", &C::memory,
                "tokens before a segment of --context tokens that a decoder with attention `relative` or `span` "
                "remembers, more or "
                "fewer than it learned with; -1 for as many as it learned with, 0 for none"}
              .range(-1, 1 << 30));
    visit(Field{"attention", &C::attention,
                "pattern or mechanism to use instead of the one in config.json: one, or one a layer, or @FILE of weft "
                "prune or weft propose"});
    visit(Field{"like_transformers", &C::like_transformers,
                "compute as transformers does, where that is something else: a Reformer without the bias of the head, "
                "and keys of a short text twice; a Transformer-XL behind a memory of zeros"});
    visit(Field{"compressed_memory", &C::compressed_memory,
                "rows of the compressed memory of a decoder that has one, more or fewer than it learned with; -1 for "
                "as many as it learned with"}
              .range(-1, 1 << 30));
    visit(
        Field{"max_bytes", &C::max_bytes, "bytes to score, counted from the start of the text; 0 for all"}.at_least(0));
    visit(Field{
        "dtype", &C::dtype,
        "number format of matrix products: float32 or bfloat16; auto is what the run learned in, and for a model of no "
        "run bfloat16 where this processor is fast at it"}
              .one_of({"auto", "float32", "bfloat16"}));
    visit(Field{"mask_probability", &C::mask_probability,
                "share of the tokens that are masked, for an encoder to predict"}
              .range(0.001, 1));
    visit(Field{"masking", &C::masking, "what is masked for an encoder: single tokens, whole words, or spans of words"}
              .one_of({"tokens", "words", "spans"}));
    visit(Field{"seed", &C::seed, "random seed that chooses the masked tokens"}.at_least(0));
    visit(Field{
        "token_scores", &C::token_scores,
        "file to write: a line of JSON for each token that a decoder scores, with place, bits, and whether it was the "
        "likeliest"});
  }
};

struct EvalOptions {
  std::string run;
  EvalTaskOptions task;
  EvalPairsOptions pairs;
  Json given = formats::Json::object();
  std::int64_t threads = 0;
  bool json = false;
};

void check_task(const std::string& run, const std::string& task, bool is_decoder) {
  const std::string fits = is_decoder ? "lm" : "mlm";
  require(task.empty() || task == fits, quote(run, 4096), " holds a model for --task ", fits, ", found --task ", task);
}

// Cut while reading: --max-bytes of a large corpus reads no more than that.
std::string text_of(const EvalConfig& config, const std::string& run, const text::Tokenizer& tokenizer) {
  if (!config.audio.empty()) {
    const data::Content sound = config.audio_channel == "first" ? data::Content::kFirstChannel : data::Content::kSound;
    require(tokenizer.kind() == "bytes", "--audio: sound is bytes, but the model of ", quote(run, 4096),
            " has a tokeniser of the kind ", tokenizer.kind());
    return data::TextCorpus(config.audio, config.max_bytes, sound).text();
  }
  std::string text = data::TextCorpus(config.text, config.max_bytes).text();
  text::warn_of_unknown_text(tokenizer, text, quote(run, 4096));
  return text;
}

void require_no_token_scores(const std::string& run, const EvalConfig& config) {
  require(config.memory <= 0 && config.compressed_memory < 0, "--memory is for decoders, and ", quote(run, 4096),
          " is an encoder");
  require(config.token_scores.empty(), "--token-scores is for decoders, and ", quote(run, 4096), " is an encoder");
}

// An encoder of Hugging Face's.
Json evaluate_encoder(const checkpoint::OpenedModel& opened, const EvalConfig& config,
                      const training::EvaluateOptions& options) {
  const std::string run = opened.path().string();
  require_no_token_scores(run, config);
  require(config.attention.empty(), "--attention is for models of `weft train`, and ", quote(run, 4096),
          " is a Hugging Face directory; `weft convert --attention` makes another one of it");
  tasks::TaskModelOptions open;
  open.head = models::Head::kMaskedLanguageModel;
  const tasks::TaskModel model = tasks::open_task_model(opened, open);
  return training::to_json(
      fine_tuning::evaluate_masked_text(model.model, *model.tokenizer, text_of(config, run, *model.tokenizer),
                                        {config.mask_probability, config.masking, config.seed}, options));
}

// With config.token_scores, each token's score as a line of that file.
Json evaluate_decoder(const models::LanguageModel& model, const text::Tokenizer& tokenizer, const std::string& text,
                      const EvalConfig& config, training::EvaluateOptions options) {
  options.behind_zeros = config.like_transformers && model->config().is_transformer_xl();
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

Json evaluate_own(const models::LanguageModel& model, const std::string& run, const EvalConfig& config,
                  const training::EvaluateOptions& options) {
  if (!config.images.empty()) {
    require(config.token_scores.empty() && config.context == 0, "--token-scores and --context are not for pictures");
    const data::PictureTokens pictures(config.images, config.max_bytes);
    training::check_pictures(model->config(), pictures.shape(), "--images");
    return training::evaluate_pictures(model, pictures, options);
  }
  require(model->config().picture_shape.empty(), quote(run, 4096), " holds a model of pictures: give --images");
  const std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(run);
  checkpoint::check_tokenizer(model->config(), *tokenizer, quote(run, 4096));
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

// With the patterns of --attention, where they are given.
models::LanguageModel load_own(const checkpoint::OpenedModel& opened, const EvalConfig& config) {
  if (config.like_transformers) {
    require(config.attention.empty(), "--attention is Weft's own, and --like-transformers asks for that of ",
            "transformers");
    const checkpoint::PublishedDecoder* const published = opened.published_decoder();
    return published != nullptr && published->type == checkpoint::kTransformerXl
               ? checkpoint::load_model(opened)
               : checkpoint::load_like_transformers(opened);
  }
  const std::optional<AttentionFile> file = attention_file(config.attention);
  if (!file) {
    return checkpoint::load_model(opened, {.attention = config.attention});
  }
  const models::TransformerConfig& own = opened.own_config();
  warn_of_other_model(*file, opened.path());
  return checkpoint::load_with_attention(opened, file->of_stack(own.num_hidden_layers, own.num_attention_heads),
                                         file->patterns.directory);
}

Json evaluate(const std::string& run, const std::string& task, const EvalConfig& config) {
  training::EvaluateOptions options;
  options.context = config.context;
  options.max_bytes = config.max_bytes;
  options.dtype = training::dtype_of_model(config.dtype, run);
  options.characters = config.audio.empty();
  WatchedProgress progress("evaluating", "tokens");
  options.progress = progress.callback();
  const checkpoint::OpenedModel opened = checkpoint::open_model(run);
  if (opened.is_encoder()) {
    check_task(run, task, false);
    require(!config.text.empty(), "--images and --audio are for decoders, and ", quote(run, 4096), " is an encoder");
    Json result = evaluate_encoder(opened, config, options);
    result["dtype"] = options.dtype;
    return result;
  }
  models::LanguageModel model = load_own(opened, config);
  check_task(run, task, model->config().is_decoder);
  if (config.memory >= 0) {
    model->set_memory_length(config.memory, "--memory");
  }
  if (config.compressed_memory >= 0) {
    model->set_compressed_memory_length(config.compressed_memory, "--compressed-memory");
  }
  Json result = evaluate_own(model, run, config, options);
  result["dtype"] = options.dtype;
  if (result.contains("memory") && model->config().compressed_memory_length > 0) {
    result["compressed_memory"] = model->config().compressed_memory_length;
  }
  if (Json spans = spans_json(model); !spans.empty()) {
    result["spans"] = std::move(spans);
  }
  return result;
}

std::string figures_text(const Json& result) {
  Rows rows;
  if (result.contains("bits_per_byte")) {
    const bool pictures = result.contains("pictures");
    rows = {{"bits per byte", fixed(result.at("bits_per_byte").get<double>(), 4) + (pictures ? ", or per dim" : "")}};
    if (pictures) {
      rows.emplace_back("pictures", digits(result["pictures"].get<std::int64_t>()));
    }
    if (result.contains("bits_per_character")) {
      rows.emplace_back("bits per character", fixed(result["bits_per_character"].get<double>(), 4));
    }
    if (result.contains("bits_per_base")) {
      rows.emplace_back("bits per base", fixed(result["bits_per_base"].get<double>(), 4));
    }
    rows.emplace_back("perplexity", fixed(result.at("perplexity").get<double>(), 4) + " of a token");
    rows.emplace_back("bytes", digits(result.at("bytes").get<std::int64_t>()));
  } else {
    rows = {{"loss", fixed(result.at("loss").get<double>(), 4) + " nats a masked token"},
            {"accuracy", fixed(result.at("masked_accuracy").get<double>(), 4)},
            {"masked tokens", digits(result.at("masked_tokens").get<std::int64_t>())}};
  }
  rows.emplace_back("context", digits(result.at("context").get<std::int64_t>()) + " tokens");
  if (result.contains("memory")) {
    rows.emplace_back("memory", digits(result["memory"].get<std::int64_t>()) + " tokens before each segment");
  }
  if (result.contains("compressed_memory")) {
    rows.emplace_back("compressed",
                      digits(result["compressed_memory"].get<std::int64_t>()) + " rows before the memory");
  }
  for (const Json& layer : result.value("spans", Json::array())) {
    std::string spans;
    for (const Json& span : layer.at("spans")) {
      spans += concat(spans.empty() ? "" : " ", fixed(span.get<double>(), 1));
    }
    rows.emplace_back(concat("spans of layer ", layer.at("layer").get<std::int64_t>()), spans);
  }
  rows.emplace_back("dtype", result.at("dtype").get<std::string>());
  rows.emplace_back("seconds", fixed(result.at("seconds").get<double>(), 1));
  return name_table(rows);
}

void run_pairs(const EvalOptions& options) {
  EvalPairsOptions pairs = options.pairs;
  pairs.run = options.run;
  pairs.task = options.task.task;
  pairs.data = options.task.data;
  pairs.predictions = options.task.predictions;
  pairs.json = options.json;
  for (const auto& [name, value] : options.given.items()) {
    if (name == "dtype") {
      pairs.dtype = value.get<std::string>();
    } else if (name == "attention") {
      pairs.attention = value.get<std::vector<std::string>>();
    } else {
      throw UsageError(concat(flag_name(name), " is for language models, but --task is ", pairs.task),
                       "pairs come from --source and --target, or --data");
    }
  }
  for (const auto& [name, value] : options.task.examples.items()) {
    const auto known = field_names<fine_tuning::PairConfig>();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError(concat(flag_name(name), " is not for --task ", pairs.task));
    }
    pairs.given[name] = value;
  }
  apply_threads(options.threads);
  eval_pairs(pairs);
}

void run_task(const EvalOptions& options) {
  EvalTaskOptions task = options.task;
  task.run = options.run;
  task.json = options.json;
  for (const auto& [name, value] : options.given.items()) {
    if (name != "dtype") {
      throw UsageError(concat(flag_name(name), " is for language models, but --task is ", task.task),
                       "a task reads its examples from --data PATH");
    }
    task.dtype = value.get<std::string>();
  }
  apply_threads(options.threads);
  eval_task(task);
}

// Labelled data are for the task that the model learned, unless another is given.
EvalOptions with_task(EvalOptions options) {
  const bool has_examples =
      !options.task.data.empty() || !options.pairs.source.empty() || !options.pairs.target.empty();
  const bool has_text =
      options.given.contains("text") || options.given.contains("images") || options.given.contains("audio");
  if (options.task.task.empty() && (has_examples || !has_text)) {
    options.task.task = has_examples ? task_of_model(options.run) : learned_task(options.run);
  }
  return options;
}

void run_eval(const EvalOptions& given) {
  const EvalOptions options = with_task(given);
  if (fine_tuning::is_pair_task(options.task.task)) {
    run_pairs(options);
    return;
  }
  if (!options.pairs.given.empty() || !options.pairs.source.empty() || !options.pairs.target.empty()) {
    throw UsageError("--source, --target and what belongs to them are for --task translate and summarize");
  }
  if (!options.task.task.empty() && options.task.task != "lm" && options.task.task != "mlm") {
    run_task(options);
    return;
  }
  if (!options.task.data.empty() || !options.task.predictions.empty()) {
    throw UsageError(concat(options.task.data.empty() ? "--predictions" : "--data",
                            " is for tasks with labelled examples, and language models are scored on plain text"),
                     concat("for example: weft eval ", options.run, " --data test.tsv; or --text PATH, and ",
                            "--token-scores FILE for each token of a decoder"));
  }
  if (!options.task.examples.empty()) {
    throw UsageError(concat(flag_name(options.task.examples.begin().key()),
                            " is for tasks with labelled examples, and language models are scored on plain text"));
  }
  EvalConfig config;
  formats::update_from_json(config, options.given, "weft eval");
  const int kinds = static_cast<int>(!config.text.empty()) + static_cast<int>(!config.images.empty()) +
                    static_cast<int>(!config.audio.empty());
  if (kinds != 1) {
    throw UsageError(kinds == 0 ? "weft eval needs --text PATH"
                                : "weft eval scores one of --text, --images and --audio, found several",
                     "for example: weft eval " + options.run + " --text held-out.txt; or --images PATH, --audio PATH");
  }
  apply_threads(options.threads);
  const Json result = evaluate(options.run, options.task.task, config);
  if (options.json) {
    print_json(result);
  } else {
    std::cout << figures_text(result);
  }
}

}  // namespace

void add_eval(CLI::App& parent) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App& app = add_command(parent, "eval", std::string(kEvalExamples));
  add_model_argument(app, "RUN", options->run, "run or model directory").required();
  app.add_option(
         "--task", options->task.task,
         "what to measure. A decoder (lm) scores each byte of --text once, after at least half a context; a masked "
         "language model (mlm) is asked for masked tokens of --text. The other tasks measure a fine-tuned model on the "
         "examples of --data. Without this flag it is the task that the run learned, or that the model's head is for")
      ->check(one_of("--task", task_names()))
      ->option_text("NAME");
  add_fields<EvalConfig>(app, {.title = "Options"}, options->given);
  app.add_option("--data", options->task.data, "labelled files and folders, in the formats of weft train --train-data")
      ->option_text("PATH...")
      ->group("Data of a task");
  app.add_option("--predictions", options->task.predictions,
                 "file to write: a line of JSON for each example, with where it is from (file, line, id, text), the "
                 "prediction and the truth")
      ->option_text("FILE")
      ->group("Data of a task");
  add_pair_flags_of_eval(app, options->pairs);
  add_example_flags(app, options->task.examples);
  add_threads_flag(app, options->threads);
  add_json_flag(app, options->json);
  show_first(app, {.flags = {"--text", "--data", "--source", "--target", "--task", "--predictions", "--context",
                             "--max-bytes", "--attention", "--dtype", "--token-scores", "--threads", "--json"}});
  app.callback([options] { run_eval(*options); });
}

}  // namespace weft::cli
