// SPDX-License-Identifier: Apache-2.0
// Memory and time of one training step of a small decoder against the length of its context. Each length runs in a
// process of its own, whose peak of resident memory the operating system reports; a process that only builds model and
// optimiser is the start.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <torch/types.h>
#include <CLI/CLI.hpp>

#include "child.h"
#include "weft/core/cpu.h"
#include "weft/models/language_model.h"
#include "weft/training/optimizers/parameter_groups.h"

namespace {

struct Options {
  weft::models::TransformerConfig model;
  std::int64_t shortest = 1024;
  std::int64_t longest = 65536;
  double limit_gb = 8.0;
};

weft::training::NamedTensors parameters_of(const weft::models::LanguageModel& model) {
  weft::training::NamedTensors result;
  for (const auto& parameter : model->named_parameters()) {
    result.emplace_back(parameter.key(), parameter.value());
  }
  return result;
}

/// Seconds of forward, backward and update at `length` tokens; no step at length 0.
double train_step(const Options& options, std::int64_t length) {
  at::manual_seed(0);
  weft::models::LanguageModel model(options.model);
  const std::unique_ptr<weft::training::Optimizer> optimizer = weft::training::make_optimizer(parameters_of(model), {});
  if (length == 0) {
    return 0.0;
  }
  const at::Tensor ids = at::randint(0, options.model.vocab_size, {1, length + 1}, at::kLong);
  const auto start = std::chrono::steady_clock::now();
  weft::models::ModelInput input;
  input.input_ids = ids.narrow(1, 0, length);
  model->loss(input, ids.narrow(1, 1, length)).backward();
  optimizer->step(1e-3);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

weft::bench::ChildRun measure(const Options& options, std::int64_t length) {
  return weft::bench::in_child([&] { return train_step(options, length); });
}

/// Prints a row a length. Returns the peak at the longest, or infinity when a length did not finish.
double print_table(const Options& options) {
  const weft::bench::ChildRun start = measure(options, 0);
  std::printf("before a step: %.3f GB\n%9s %9s %9s %14s %11s\n", start.peak_gb, "tokens", "seconds", "peak GB",
              "GB over start", "kB a token");
  double peak = 0.0;
  for (std::int64_t length = options.shortest; length <= options.longest; length *= 2) {
    const weft::bench::ChildRun step = measure(options, length);
    if (!step.finished) {
      std::printf("%9ld did not finish\n", static_cast<long>(length));
      return HUGE_VAL;
    }
    const double grown = step.peak_gb - start.peak_gb;
    std::printf("%9ld %9.2f %9.3f %14.3f %11.1f\n", static_cast<long>(length), step.number, step.peak_gb, grown,
                grown * 1e6 / static_cast<double>(length));
    std::fflush(stdout);
    peak = step.peak_gb;
  }
  return peak;
}

void add_flags(CLI::App& app, Options& options) {
  app.allow_extras();  // scripts/bench gives every program the flags of Google Benchmark
  app.add_option("--attention", options.model.attention[0], "pattern of every layer");
  app.add_option("--layers", options.model.num_hidden_layers);
  app.add_option("--width", options.model.hidden_size);
  app.add_option("--heads", options.model.num_attention_heads);
  app.add_flag("--gradient-checkpointing,!--no-gradient-checkpointing", options.model.gradient_checkpointing);
  app.add_option("--shortest", options.shortest, "tokens; doubled from line to line");
  app.add_option("--longest", options.longest);
  app.add_option("--limit-gb", options.limit_gb, "peak at the longest above which the program fails");
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  options.model.attention = {"causal & window(left=512, right=0)"};
  options.model.gradient_checkpointing = true;
  CLI::App app("Memory and time of a training step against the context's length");
  add_flags(app, options);
  CLI11_PARSE(app, count, arguments);
  options.model.max_position_embeddings = options.longest;

  std::printf("linearity: %s, %ld layers, width %ld, %s, gradient checkpointing %s\n",
              options.model.attention[0].c_str(), static_cast<long>(options.model.num_hidden_layers),
              static_cast<long>(options.model.hidden_size), weft::cpu_description().c_str(),
              options.model.gradient_checkpointing ? "on" : "off");
  const double peak = print_table(options);
  std::printf("peak at %ld tokens: %.3f GB, limit %.1f GB\n", static_cast<long>(options.longest), peak,
              options.limit_gb);
  return peak <= options.limit_gb ? 0 : 1;
}
