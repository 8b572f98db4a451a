// SPDX-License-Identifier: Apache-2.0
// `weft generate`: continues a prompt and prints the text as it comes; tensors of prompts, and pictures, go to files.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/like_transformers.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/printing/visible_output.h"
#include "weft/cli/front/short_help.h"
#include "weft/cli/generation/settings_flags.h"
#include "weft/cli/tasks/encoder_flags.h"
#include "weft/core/interrupt.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/generation/continue_text.h"
#include "weft/generation/search/search.h"
#include "weft/generation/settings/read_settings.h"
#include "weft/generation/tensors/tensor_search.h"
#include "weft/generation/whole_texts.h"
#include "weft/readers/input/input_texts.h"
#include "weft/tasks/pictures/complete_picture.h"
#include "weft/text/unknown_tokens.h"
#include "weft/training/precision.h"

namespace weft::cli {
namespace {

using checkpoint::Ability;

constexpr std::string_view kGenerateExamples =
    "  weft generate run --prompt 'Once upon a time' --max-new-tokens 200 --seed 1\n"
    "  weft generate run --prompt-file start.txt --temperature 0.8 --top-p 0.95\n"
    "  weft generate run --prompt 'def main' --temperature 0 --json\n"
    "  weft generate run --prompt 'The ' --num-beams 4 --num-return-sequences 4 --no-repeat-ngram-size 3\n"
    "  weft generate run --input ids.safetensors --output texts.safetensors --num-beams 4\n"
    "  weft generate run --prompt-file chapter.txt --memory 2000 --max-new-tokens 5000\n"
    "  weft generate run --image half.png --keep-rows 16 --output whole.png --seed 1\n"
    "  weft generate run --num-beams 4 --print-settings";

struct GenerateOptions {
  std::string run;
  std::string prompt;
  std::string prompt_file;
  std::string input;
  tasks::PictureRequest picture;  // and the file to write, of tensors too
  std::int64_t memory = -1;
  std::int64_t compressed_memory = -1;
  bool like_transformers = false;
  GenerationFlags settings;
  EncoderFlags encoder;
  bool json = false;
};

// What it costs is nothing that anybody would expect of a decoder.
void tell_of_whole_texts(const models::LanguageModel& model, const std::string& run) {
  if (generation::computes_whole_texts(model)) {
    write_line(concat("weft generate: in ", quote(run, 4096),
                      " a later token changes what earlier ones gave: the whole ",
                      "text is computed again for each token\n"));
  }
}

models::LanguageModel load_with_memory(const checkpoint::OpenedModel& directory, const GenerateOptions& options,
                                       const tasks::EncoderSettings& settings) {
  models::LanguageModel model = options.like_transformers
                                    ? checkpoint::load_cached_like_transformers(directory, settings.dtype)
                                    : checkpoint::load_model(directory, tasks::decoder_options(settings));
  tell_of_whole_texts(model, options.run);
  if (options.memory >= 0) {
    model->set_memory_length(options.memory, "--memory");
  }
  if (options.compressed_memory >= 0) {
    model->set_compressed_memory_length(options.compressed_memory, "--compressed-memory");
  }
  return model;
}

using Sequences = std::vector<generation::Sequence>;
using formats::Json;

void tell_of_int8(const checkpoint::OpenedModel& directory, Json& said) {
  if (directory.computes_int8()) {
    said["weights"] = "int8";
  }
}

/// Generates, printing `prompt` and the text as it goes where `streams`.
Sequences generate_texts(const models::LanguageModel& model, const text::Tokenizer& tokenizer,
                         const std::string& prompt, const generation::GenerationConfig& config, bool streams) {
  generation::LanguageModelDecoder decoder(model);
  if (!streams) {
    return generation::continue_text(decoder, tokenizer, prompt, config, {});
  }
  // A text that has no room is refused before anything of it is printed.
  const Sequences texts = generation::continue_text(decoder, tokenizer, prompt, config,
                                                    {.begins =
                                                         [&] {
                                                           print_text(prompt);
                                                           std::cout.flush();
                                                         },
                                                     .takes =
                                                         [](const std::string& piece) {
                                                           print_text(piece);
                                                           std::cout.flush();
                                                           // A closed pipe (`| head`) ends the generation, not only its
                                                           // output.
                                                           return std::cout.good();
                                                         }});
  std::cout << '\n';
  return texts;
}

std::string prompt_of(const GenerateOptions& options) {
  const std::string prompt = options.prompt_file.empty()
                                 ? options.prompt
                                 : readers::read_whole_text(readers::ByteSource::stream(options.prompt_file));
  if (prompt.empty()) {
    throw UsageError("weft generate needs a prompt of at least one byte", "give --prompt TEXT or --prompt-file FILE");
  }
  return prompt;
}

void print_texts(const Sequences& texts, const text::Tokenizer& tokenizer, const std::string& prompt) {
  for (const generation::Sequence& text : texts) {
    print_text(prompt + tokenizer.decode(text.ids) + "\n");
  }
}

// The first text may be finished, and another one not.
void fail_if_interrupted(const Sequences& texts) {
  if (interrupted()) {
    fail(ErrorKind::kInterrupted, "stopped after ", texts.empty() ? 0 : texts.front().ids.size(), " tokens");
  }
}

void run_texts(const GenerateOptions& options, const checkpoint::OpenedModel& directory,
               const generation::GenerationConfig& config, const tasks::EncoderSettings& settings) {
  const std::string prompt = prompt_of(options);
  const models::LanguageModel model = load_with_memory(directory, options, settings);
  const std::unique_ptr<text::Tokenizer> tokenizer = checkpoint::load_tokenizer(directory);
  text::warn_of_small_vocabulary(*tokenizer, model->config().vocab_size, quote(options.run, 4096));
  text::warn_of_unknown_text(*tokenizer, prompt, quote(options.run, 4096));
  const bool streams = !options.json && generation::comes_in_pieces(config);
  const InterruptGuard guard;
  const auto start = std::chrono::steady_clock::now();
  const Sequences texts = generate_texts(model, *tokenizer, prompt, config, streams);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.json) {
    for (Json& said : generation::texts_json(texts, *tokenizer, prompt, config)) {
      said["dtype"] = tasks::dtype_text(product_type(settings));
      tell_of_int8(directory, said);
      said["seconds"] = seconds;
      print_json(said);
    }
  } else if (!streams) {
    print_texts(texts, *tokenizer, prompt);
  }
  fail_if_interrupted(texts);
}

generation::TensorResults search_tensors(const checkpoint::OpenedModel& directory, const generation::TensorTexts& texts,
                                         const generation::GenerationConfig& config, const GenerateOptions& options,
                                         const tasks::EncoderSettings& settings) {
  if (directory.can(Ability::kWrite)) {
    const checkpoint::EncoderDecoderLoadOptions load{.encoder = settings.encoder,
                                                     .dtype = settings.dtype,
                                                     .check_finite = settings.check_finite,
                                                     .int8 = settings.int8};
    return generation::write_targets(checkpoint::load_encoder_decoder(directory, load), texts, config, options.input);
  }
  generation::LanguageModelDecoder decoder(load_with_memory(directory, options, settings));
  return generation::continue_texts(decoder, texts, config, options.input);
}

void run_tensors(const GenerateOptions& options, const checkpoint::OpenedModel& directory,
                 const generation::GenerationConfig& config, const tasks::EncoderSettings& settings) {
  if (!config.stop_strings.empty()) {
    throw UsageError("weft generate --input has ids and no tokeniser: stop_strings has no effect",
                     "give --eos-token-id, or --prompt instead of --input");
  }
  const generation::TensorTexts texts = generation::read_tensor_texts(options.input, directory.can(Ability::kWrite));
  const InterruptGuard guard;
  const generation::TensorResults results = search_tensors(directory, texts, config, options, settings);
  if (interrupted()) {
    fail(ErrorKind::kInterrupted, "stopped before all texts were there; ", quote(options.picture.output, 4096),
         " was not written");
  }
  checkpoint::save_tensors(options.picture.output,
                           {{"sequences", results.sequences}, {"sequences_scores", results.scores}});
  if (options.json) {
    Json said = {{"output", options.picture.output},
                 {"rows", results.sequences.size(0)},
                 {"dtype", tasks::dtype_text(product_type(settings))}};
    tell_of_int8(directory, said);
    print_json(said);
  }
}

void run_picture(const GenerateOptions& options, const checkpoint::OpenedModel& directory,
                 const generation::GenerationConfig& config, const tasks::EncoderSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  const tasks::CompletedPicture done =
      tasks::complete_picture(options.picture, directory, config, tasks::decoder_options(settings));
  if (options.json) {
    Json said = {{"output", options.picture.output},
                 {"dtype", tasks::dtype_text(product_type(settings))},
                 {"rows_kept", done.rows_kept},
                 {"new_bytes", done.new_bytes},
                 {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
    tell_of_int8(directory, said);
    print_json(said);
  } else {
    std::cout << options.picture.output << ": " << done.rows_kept << " rows kept, " << digits(done.new_bytes)
              << " bytes written anew\n";
  }
}

// Before anything is read.
void check_generate_flags(const GenerateOptions& options) {
  const bool has_tensors = !options.input.empty();
  if (options.picture.given()) {
    tasks::check_picture_request(options.picture, options.settings.given);
    if (options.memory >= 0 || options.compressed_memory >= 0) {
      throw UsageError("a memory is for decoders with attention `relative` or `span`, and not for pictures",
                       "leave --memory and --compressed-memory out");
    }
    if (options.like_transformers) {
      throw UsageError("--like-transformers is for Reformers of transformers, and not for pictures", "leave it out");
    }
    return;
  }
  if (has_tensors == options.picture.output.empty()) {
    throw UsageError("weft generate: --input and --output belong together", "give both, or neither");
  }
  if (!has_tensors && !options.settings.print_settings && options.prompt_file.empty()) {
    prompt_of(options);
  }
}

// Flags that only decoders have, or only encoder-decoders.
void check_flags_of_kind(const GenerateOptions& options, const checkpoint::OpenedModel& directory) {
  if (!directory.can(Ability::kWrite)) {
    directory.need(directory.can(Ability::kDraw) ? Ability::kDraw : Ability::kContinue);
    for (const auto& [field, value] : options.encoder.given.items()) {
      if (field != "dtype" && field != "weights") {
        throw UsageError(
            concat(flag_name(field), " is for an encoder-decoder, whose encoder it changes, and this is a decoder"),
            "leave it out");
      }
    }
    return;
  }
  if (options.memory >= 0 || options.compressed_memory >= 0) {
    throw UsageError("a memory is for decoders with attention `relative` or `span`, and this is an encoder-decoder",
                     "leave --memory and --compressed-memory out");
  }
  if (options.like_transformers) {
    throw UsageError("--like-transformers is for Reformers of transformers, and this is an encoder-decoder",
                     "leave it out");
  }
}

void run_generate(const GenerateOptions& options) {
  check_generate_flags(options);
  const bool has_tensors = !options.input.empty();
  const checkpoint::OpenedModel directory = checkpoint::open_model(options.run);
  const bool has_source = directory.can(Ability::kWrite);
  check_flags_of_kind(options, directory);
  const generation::GenerationConfig config =
      generation_settings(options.settings, directory, "weft generate",
                          has_source ? generation::GenerationConfig{} : generation::language_model_defaults());
  if (options.settings.print_settings) {
    std::cout << formats::print_json(formats::to_json(config), 2) << '\n';
    return;
  }
  check_settings(config, options.settings, directory, "weft generate");
  const tasks::EncoderSettings settings = has_source
                                              ? encoder_settings(options.encoder, "weft generate", directory.path())
                                              : decoder_settings(options.encoder, "weft generate", directory.path());
  if (settings.int8) {
    directory.ask_for_int8();
  }
  const training::AutocastGuard autocast(settings.products);
  if (has_tensors) {
    run_tensors(options, directory, config, settings);
  } else if (options.picture.given() && !has_source) {
    run_picture(options, directory, config, settings);
  } else {
    directory.need(Ability::kContinue);
    run_texts(options, directory, config, settings);
  }
}

}  // namespace

void add_generate(CLI::App& parent) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App& app = add_command(parent, "generate", std::string(kGenerateExamples));
  add_model_argument(app, "RUN", options->run, "run or model directory").required();
  CLI::Option* prompt = app.add_option("--prompt", options->prompt, "text to continue")->option_text("TEXT");
  CLI::Option* prompt_file = app.add_option("--prompt-file", options->prompt_file,
                                            "file that holds the text to continue, plain or gzip; - is standard input")
                                 ->option_text("FILE")
                                 ->excludes(prompt);
  CLI::Option* input = app.add_option("--input", options->input,
                                      "safetensors file with input_ids and, if you like, attention_mask [B, N]; of an "
                                      "encoder-decoder global_attention_mask [B, N] and decoder_input_ids [B, T], too")
                           ->option_text("FILE")
                           ->excludes(prompt)
                           ->excludes(prompt_file);
  app.add_option("--image", options->picture.image,
                 "picture (PNG, PGM, PPM) that a model of pictures completes, of the size of those that it learned")
      ->option_text("FILE")
      ->excludes(prompt)
      ->excludes(prompt_file)
      ->excludes(input);
  app.add_option("--keep-rows", options->picture.keep_rows,
                 "rows of --image that are kept, from the top; the model writes the others; 0 needs no --image "
                 "(default: half of them)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 26))
      ->option_text("N")
      ->excludes(prompt)
      ->excludes(prompt_file)
      ->excludes(input);
  app.add_option("--output", options->picture.output,
                 "file to write: with --input safetensors (sequences and sequences_scores), of a picture a PNG")
      ->option_text("FILE");
  app.add_option(
         "--memory", options->memory,
         "tokens before the next one that a decoder with attention `relative` or `span` remembers, more or fewer "
         "than it learned with; 0 for all (default: as many as it learned with)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->option_text("N");
  app.add_option("--compressed-memory", options->compressed_memory,
                 "rows of the compressed memory of a decoder that has one (default: as many as it learned with)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->option_text("N");
  app.add_flag(
      "--like-transformers", options->like_transformers,
      "continue with a Reformer as transformers 5 does with its cache, which is not what the whole text gives, "
      "and without the bias of the head");
  add_generation_flags(app, options->settings);
  add_encoder_flags(app, options->encoder);
  add_json_flag(app, options->json);
  show_first(app, {.flags = {"--prompt", "--prompt-file", "--max-new-tokens", "--temperature", "--top-p", "--top-k",
                             "--num-beams", "--seed", "--stop-strings", "--threads", "--json"}});
  app.callback([options] { run_generate(*options); });
}

}  // namespace weft::cli
