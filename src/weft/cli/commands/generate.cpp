// SPDX-License-Identifier: Apache-2.0
// `weft generate`: continues a prompt and prints the text as it comes.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint/model_directory.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/help.h"
#include "weft/cli/output.h"
#include "weft/cli/threads.h"
#include "weft/core/interrupt.h"
#include "weft/core/quote.h"
#include "weft/generation/generate.h"
#include "weft/readers/input/input_texts.h"
#include "weft/text/stream_decoder.h"
#include "weft/text/unknown_tokens.h"

namespace weft::cli {
namespace {

constexpr std::string_view kGenerateExamples =
    "  weft generate run --prompt 'Once upon a time' --max-new-tokens 200 --seed 1\n"
    "  weft generate run --prompt-file start.txt --temperature 0.8 --top-p 0.95\n"
    "  weft generate run --prompt 'def main' --temperature 0 --json";

struct GenerateOptions {
  std::string run;
  std::string prompt;
  std::string prompt_file;
  formats::Json given = formats::Json::object();
  std::int64_t threads = 0;
  bool json = false;
};

std::string finish_reason(generation::FinishReason reason) {
  switch (reason) {
    case generation::FinishReason::kLength:
      return "length";
    case generation::FinishReason::kStopToken:
      return "stop_token";
    case generation::FinishReason::kCallback:
      return "output_closed";
    case generation::FinishReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

/// Generates, printing as it goes unless a whole JSON answer is asked for.
generation::GenerationResult stream(const models::LanguageModel& model, const text::Tokenizer& tokenizer,
                                    const std::vector<std::int64_t>& prompt, const generation::SamplingConfig& config,
                                    bool print) {
  const InterruptGuard guard;
  text::StreamDecoder decoder(tokenizer);
  const auto on_token = [&](std::int64_t id) {
    if (print) {
      std::cout << decoder.push(id) << std::flush;
    }
    // A closed pipe (`| head`) ends the generation, not only its output.
    return std::cout.good();
  };
  generation::GenerationResult result = generation::generate(model, prompt, config, on_token);
  if (print) {
    std::cout << decoder.finish() << '\n';
  }
  return result;
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

void run_generate(const GenerateOptions& options) {
  generation::SamplingConfig config;
  formats::update_from_json(config, options.given, "weft generate");
  const std::string prompt = prompt_of(options);
  apply_threads(options.threads);
  const models::LanguageModel model = checkpoint::load_model(options.run);
  const std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(options.run);
  checkpoint::check_tokenizer(model->config(), *tokenizer, quote(options.run, 4096));
  text::warn_of_small_vocabulary(*tokenizer, model->config().vocab_size, quote(options.run, 4096));
  text::warn_of_unknown_text(*tokenizer, prompt, quote(options.run, 4096));
  if (!options.json) {
    std::cout << prompt << std::flush;
  }
  const auto start = std::chrono::steady_clock::now();
  const generation::GenerationResult result =
      stream(model, *tokenizer, tokenizer->encode(prompt), config, !options.json);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.json) {
    print_json({{"prompt", prompt},
                {"generated_text", tokenizer->decode(result.ids)},
                {"new_tokens", result.ids.size()},
                {"finish_reason", finish_reason(result.reason)},
                {"seconds", seconds}});
  }
  if (result.reason == generation::FinishReason::kInterrupted) {
    fail(ErrorKind::kInterrupted, "stopped after ", result.ids.size(), " tokens");
  }
}

}  // namespace

void add_generate(CLI::App& parent) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App& app = add_command(parent, "generate", std::string(kGenerateExamples));
  app.add_option("RUN", options->run, "run or model directory")->required();
  CLI::Option* prompt = app.add_option("--prompt", options->prompt, "text to continue")->option_text("TEXT");
  app.add_option("--prompt-file", options->prompt_file,
                 "file that holds the text to continue, plain or gzip; - is standard input")
      ->option_text("FILE")
      ->excludes(prompt);
  add_fields<generation::SamplingConfig>(app, {.title = "Sampling"}, options->given);
  add_threads_flag(app, options->threads);
  add_json_flag(app, options->json);
  app.callback([options] { run_generate(*options); });
}

}  // namespace weft::cli
