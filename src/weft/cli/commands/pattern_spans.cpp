// SPDX-License-Identifier: Apache-2.0
// The learned spans of a model, the windows that they come to, and the model that attends by these.
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "weft/attention/mechanisms/span/learned_spans.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/pattern/spans_command.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/layers/inference/int8_weight.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::string_view kSpansExamples =
    "  weft pattern spans run\n"
    "  weft pattern spans run --above 0 --json\n"
    "  weft pattern spans run --out frozen\n"
    "  weft eval frozen --text held-out.txt";

struct SpansOptions {
  std::string run;
  std::string out;
  double above = 0.5;
  bool json = false;
};

/// A layer that learns spans.
struct FrozenLayer {
  std::int64_t layer;
  std::vector<double> spans;
  std::string pattern;
  std::string fixed;  ///< what a config says in place of the span: the pattern, or where scores know distances, a span
};

std::vector<FrozenLayer> frozen_layers(const models::LanguageModel& model, double above) {
  const at::NoGradGuard without_gradients;
  const auto learned = attention::span_layers(*model);
  std::vector<FrozenLayer> layers;
  layers.reserve(learned.size());
  for (const auto& layer : learned) {
    const at::Tensor spans = layer->spans().contiguous();
    const auto* const first = spans.const_data_ptr<double>();
    const std::vector<std::int64_t> reaches = layer->reach(above);
    const std::string pattern = attention::window_of_heads(reaches, layer->site().causal);
    layers.push_back({layer->site().layer,
                      {first, first + spans.numel()},
                      pattern,
                      layer->has_positions() ? attention::fixed_spans(reaches, layer->longest()) : pattern});
  }
  return layers;
}

/// One expression a layer: fixed reaches in place of spans, what the config has elsewhere.
std::vector<std::string> frozen_attention(const models::TransformerConfig& config,
                                          const std::vector<FrozenLayer>& layers) {
  std::vector<std::string> attention;
  attention.reserve(static_cast<std::size_t>(config.num_hidden_layers));
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    attention.push_back(config.attention_of(layer));
  }
  for (const FrozenLayer& frozen : layers) {
    attention[static_cast<std::size_t>(frozen.layer)] = frozen.fixed;
  }
  return attention;
}

void write_frozen(const models::LanguageModel& model, const std::vector<std::string>& attention,
                  const SpansOptions& options) {
  models::TransformerConfig config = model->config();
  config.attention = attention;
  models::LanguageModel frozen(config, at::TensorOptions(at::kCPU).dtype(at::kFloat));
  const at::NoGradGuard without_gradients;
  layers::share_int8(*model, *frozen);
  const auto learned = model->named_parameters();
  for (auto& parameter : frozen->named_parameters()) {
    parameter.value().copy_(learned[parameter.key()]);
  }
  checkpoint::save_model(options.out, frozen, *text::load_tokenizer(options.run));
}

std::string spans_text(const std::vector<double>& spans) {
  std::string text;
  for (const double span : spans) {
    text += concat(text.empty() ? "" : " ", fixed(span, 1));
  }
  return text;
}

void print_spans(const SpansOptions& options, const std::vector<FrozenLayer>& layers,
                 const std::vector<std::string>& attention) {
  if (options.json) {
    Json found = Json::array();
    for (const FrozenLayer& layer : layers) {
      found.push_back({{"layer", layer.layer}, {"spans", layer.spans}, {"pattern", layer.pattern}});
    }
    Json json = {{"layers", found}, {"attention", attention}};
    if (!options.out.empty()) {
      json["model"] = options.out;
    }
    print_json(json);
    return;
  }
  Rows rows;
  for (const FrozenLayer& layer : layers) {
    rows.emplace_back(concat("spans of layer ", layer.layer), spans_text(layer.spans));
    rows.emplace_back("", layer.pattern);
  }
  if (!options.out.empty()) {
    rows.emplace_back("model", options.out);
  }
  std::cout << name_table(rows) << "for config.json:\n  \"attention\": " << formats::print_json(Json(attention))
            << "\n";
}

void run_spans(const SpansOptions& options) {
  const models::LanguageModel model = checkpoint::load_model(std::filesystem::path(options.run));
  const std::vector<FrozenLayer> layers = frozen_layers(model, options.above);
  require(!layers.empty(), Quoted(options.run, 4096),
          ": no layer learns spans; attention `span(max=1024)` does, docs/long-texts/spans.md says how");
  const std::vector<std::string> attention = frozen_attention(model->config(), layers);
  if (!options.out.empty()) {
    write_frozen(model, attention, options);
  }
  print_spans(options, layers, attention);
}

}  // namespace

void add_pattern_spans(CLI::App& parent) {
  auto options = std::make_shared<SpansOptions>();
  CLI::App& app = add_command(parent, std::string(kSpansName), std::string(kSpansAbout), std::string(kSpansExamples));
  add_model_argument(app, "RUN", options->run, "run or model directory of a model with attention `span`").required();
  app.add_option("--above", options->above,
                 "keep the edges whose mask, 1 up to the span and falling to 0 along the ramp, is above this share; 0 "
                 "keeps all edges that the model has")
      ->check(CLI::Range(0.0, 0.999))
      ->option_text("SHARE [0.5]");
  app.add_option("--out", options->out,
                 "model directory to make: the same weights with windows in place of spans, or with spans of fixed "
                 "reach where scores know distances")
      ->option_text("DIR");
  add_json_flag(app, options->json);
  app.callback([options] { run_spans(*options); });
}

}  // namespace weft::cli
