// SPDX-License-Identifier: Apache-2.0
// Time and memory of a model that writes a fixed number of tokens for a batch of texts, by greedy search or beams: an
// encoder-decoder behind its sources, which the encoder reads once, or a decoder behind prompts. generation.py runs it
// beside other programs and compares the ids.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/error.h"
#include "weft/formats/config_json.h"
#include "weft/generation/decoder.h"
#include "weft/generation/pair_decoder.h"
#include "weft/generation/search/search.h"

namespace {

using weft::generation::Ids;

struct Options {
  std::string directory;
  std::string input;
  std::int64_t new_tokens = 32;
  std::int64_t beams = 1;
  std::int64_t repeats = 3;
  int threads = 2;
  std::string weights = "float32";
};

struct Run {
  double encoder_seconds = 0.0;
  double seconds = 0.0;            // of both
  double processor_seconds = 0.0;  // of all threads, those that wait included
  std::vector<Ids> ids;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double peak_gigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
}

/// `input_ids` [B, S] of a safetensors file.
at::Tensor read_sources(const std::string& path) {
  for (const auto& [name, tensor] : weft::checkpoint::load_tensors(path)) {
    if (name == "input_ids") {
      return tensor.to(at::kLong);
    }
  }
  weft::fail(weft::ErrorKind::kFormat, path, ": has no tensor 'input_ids'");
}

/// The end is banned up to the last token, so that every text has as many.
weft::generation::GenerationConfig settings_of(const Options& options, std::int64_t end) {
  weft::generation::GenerationConfig config;
  config.max_new_tokens = options.new_tokens;
  config.min_new_tokens = options.new_tokens;
  config.num_beams = options.beams;
  config.eos_token_id = {end};
  return config;
}

/// Writes texts behind the start token of each source.
Run write_targets(const weft::models::EncoderDecoder& model, const at::Tensor& sources, const Options& options) {
  weft::generation::SearchRequest request;
  request.prompts.assign(static_cast<std::size_t>(sources.size(0)), Ids{model->config().decoder_start_token_id});
  Run run;
  const auto start = std::chrono::steady_clock::now();
  weft::generation::PairDecoder decoder(model, sources);
  run.encoder_seconds = seconds_since(start);
  for (const auto& texts :
       weft::generation::search(decoder, request, settings_of(options, model->config().eos_token_id))) {
    run.ids.push_back(texts.front().ids);
  }
  return run;
}

/// Goes on with each prompt.
Run continue_prompts(const weft::models::LanguageModel& model, const at::Tensor& prompts, const Options& options) {
  weft::generation::SearchRequest request;
  const at::Tensor rows = prompts.contiguous();
  for (std::int64_t row = 0; row < rows.size(0); ++row) {
    const auto* const ids = rows.const_data_ptr<std::int64_t>() + row * rows.size(1);
    request.prompts.emplace_back(ids, ids + rows.size(1));
  }
  Run run;
  weft::generation::LanguageModelDecoder decoder(model);
  const std::int64_t end = model->config().vocab_size - 1;
  for (const auto& texts : weft::generation::search(decoder, request, settings_of(options, end))) {
    run.ids.push_back(texts.front().ids);
  }
  return run;
}

using Work = std::function<Run()>;

/// Work that holds the model of the directory.
Work opened(const Options& options, const at::Tensor& ids) {
  const weft::checkpoint::OpenedModel directory(options.directory);
  const bool int8 = options.weights == "int8";
  const at::ScalarType dtype = options.weights == "bfloat16" ? at::kBFloat16 : at::kFloat;
  if (directory.can(weft::checkpoint::Ability::kWrite)) {
    const auto model = weft::checkpoint::load_encoder_decoder(directory, {.dtype = dtype, .int8 = int8});
    return [=] { return write_targets(model, ids, options); };
  }
  const auto model = weft::checkpoint::load_model(directory, {.int8 = int8, .dtype = dtype});
  return [=] { return continue_prompts(model, ids, options); };
}

Run timed(const Work& work) {
  const double processor_start = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  Run run = work();
  run.seconds = seconds_since(start);
  run.processor_seconds = processor_seconds() - processor_start;
  return run;
}

void measure(const Options& options) {
  const Work work = opened(options, read_sources(options.input));
  const double loaded = peak_gigabytes();
  std::vector<double> encoder;
  std::vector<double> seconds;
  std::vector<double> processor;
  const Run first = timed(work);
  for (std::int64_t repeat = 0; repeat < options.repeats; ++repeat) {
    const Run run = timed(work);
    encoder.push_back(run.encoder_seconds);
    seconds.push_back(run.seconds);
    processor.push_back(run.processor_seconds);
  }
  const weft::formats::Json result{{"first_seconds", first.seconds},
                                   {"loaded_gb", loaded},
                                   {"peak_gb", peak_gigabytes()},
                                   {"seconds", seconds},
                                   {"encoder_seconds", encoder},
                                   {"processor_seconds", processor},
                                   {"ids", first.ids}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int count, char** words) {
  Options options;
  CLI::App app("Time and memory of a model that writes a fixed number of tokens");
  app.add_option("DIR", options.directory, "model directory of an encoder-decoder or a decoder")->required();
  app.add_option("INPUT", options.input, "safetensors file with input_ids [B, S]: sources, or prompts of a decoder")
      ->required();
  app.add_option("--new", options.new_tokens, "tokens that every text gets");
  app.add_option("--beams", options.beams, "beams; 1: greedy");
  app.add_option("--repeats", options.repeats, "runs that are timed, behind one that is not");
  app.add_option("--threads", options.threads, "threads to compute with");
  app.add_option("--weights", options.weights, "what the weights are kept as")
      ->check(CLI::IsMember({"float32", "bfloat16", "int8"}));
  CLI11_PARSE(app, count, words);
  try {
    at::set_num_threads(options.threads);
    measure(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generation: %s\n", error.what());
    return 1;
  }
  return 0;
}
