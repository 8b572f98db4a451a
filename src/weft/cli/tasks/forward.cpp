// SPDX-License-Identifier: Apache-2.0
// `weft forward`: tensors in, tensors out, under the names of transformers; for comparisons and pipelines.
#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/input/input_tensors.h"
#include "weft/checkpoint/tensors.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/encoder_flags.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/training/precision.h"

namespace weft::cli {
namespace {

constexpr const char* kForwardExamples =
    "  weft forward bigbird-roberta-base --input ids.safetensors --output hidden.safetensors\n"
    "  weft forward longformer-squad --input ids.safetensors --output logits.safetensors --dtype bfloat16 --threads 2\n"
    "  weft forward opus-mt-de-en --input pairs.safetensors --output logits.safetensors";

struct ForwardCommand {
  std::string directory;
  std::string input;
  std::string output;
  EncoderFlags encoder;
  bool json = false;
};

/// What a call gave, and what is said of it.
struct Forwarded {
  checkpoint::NamedTensors tensors;
  std::vector<std::pair<std::string, std::string>> computed;
  double seconds = 0;
};

template <typename Call>
Forwarded timed(const std::string& path, Call&& call) {
  const c10::InferenceMode no_graph;
  const auto start = std::chrono::steady_clock::now();
  try {
    Forwarded result = call();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  } catch (const Error& error) {
    // The model says which input is wrong; the user wants to know in which file.
    throw Error(error.kind(), concat(quote(path, 4096), ": ", error.what()), error.hint());
  }
}

/// The companions of a text, and which tokens belong to which.
models::CompanionTokens global_input(checkpoint::InputTensors& inputs) {
  return {.input_ids = inputs["global_input_ids"],
          .mask = inputs["global_input_mask"],
          .token_type_ids = inputs["global_token_type_ids"],
          .sentence = inputs["sentence_ids"],
          .paragraph = inputs["paragraph_ids"],
          .linked = inputs["linked_ids"],
          .segment = inputs["segment_ids"],
          .global_segment = inputs["global_segment_ids"],
          .sees_all = inputs["sees_all"]};
}

Forwarded forward_encoder(const checkpoint::OpenedModel& directory, const tasks::EncoderSettings& settings,
                          const std::string& path) {
  checkpoint::InputTensors inputs = checkpoint::read_input_tensors(path, checkpoint::encoder_inputs(), {"input_ids"});
  checkpoint::EncoderLoadOptions load;
  load.encoder = settings.encoder;
  load.dtype = settings.dtype;
  load.check_finite = settings.check_finite;
  load.int8 = settings.int8;
  models::EncoderModel model = checkpoint::load_encoder(directory, load);
  require(!inputs["global_attention_mask"].defined() || model->needs_input(), Quoted(path, 4096),
          ": global_attention_mask names positions for `input`, which no attention of the model names");
  return timed(path, [&] {
    const models::EncoderInput input{.input_ids = inputs["input_ids"],
                                     .attention_mask = inputs["attention_mask"],
                                     .token_type_ids = inputs["token_type_ids"],
                                     .global_attention_mask = inputs["global_attention_mask"],
                                     .companions = global_input(inputs)};
    checkpoint::NamedTensors tensors = model->forward(input).named();
    return Forwarded{std::move(tensors), model->computed()};
  });
}

Forwarded forward_pair(const checkpoint::OpenedModel& directory, const tasks::EncoderSettings& settings,
                       const std::string& path) {
  checkpoint::InputTensors inputs =
      checkpoint::read_input_tensors(path, checkpoint::pair_inputs(), {"input_ids", "decoder_input_ids"});
  models::EncoderDecoder model = checkpoint::load_encoder_decoder(directory, {.encoder = settings.encoder,
                                                                              .dtype = settings.dtype,
                                                                              .check_finite = settings.check_finite,
                                                                              .int8 = settings.int8});
  return timed(path, [&] {
    models::SequencePair pair{.input_ids = inputs["input_ids"],
                              .decoder_input_ids = inputs["decoder_input_ids"],
                              .attention_mask = inputs["attention_mask"],
                              .decoder_attention_mask = inputs["decoder_attention_mask"],
                              .global_attention_mask = inputs["global_attention_mask"]};
    auto [logits, states] = model->logits_and_states(pair);
    return Forwarded{{{"logits", logits}, {"encoder_last_hidden_state", states}}, model->computed()};
  });
}

using Forward = Forwarded (*)(const checkpoint::OpenedModel& directory, const tasks::EncoderSettings& settings,
                              const std::string& path);
constexpr std::array kForwards{checkpoint::Way<Forward>{checkpoint::Ability::kWrite, forward_pair},
                               checkpoint::Way<Forward>{checkpoint::Ability::kRead, forward_encoder}};

formats::Json shapes_json(const checkpoint::NamedTensors& tensors) {
  formats::Json shapes = formats::Json::object();
  for (const auto& [name, tensor] : tensors) {
    shapes[name] = tensor.sizes().vec();
  }
  return shapes;
}

void run_forward(const ForwardCommand& command) {
  const tasks::EncoderSettings settings = encoder_settings(command.encoder, "weft forward", command.directory);
  const checkpoint::OpenedModel directory = checkpoint::open_model(command.directory);
  const training::AutocastGuard autocast(settings.products);
  std::optional<BusyBar> bar("computing");
  const Forwarded result = way_of(directory, kForwards)(directory, settings, command.input);
  formats::Metadata metadata{{"dtype", tasks::dtype_text(product_type(settings))}};
  formats::Json said = {{"outputs", shapes_json(result.tensors)},
                        {"seconds", result.seconds},
                        {"threads", at::get_num_threads()},
                        {"dtype", tasks::dtype_text(product_type(settings))}};
  for (const auto& [name, value] : result.computed) {
    metadata[name] = value;
    said[name] = value;
  }
  checkpoint::save_tensors(command.output, result.tensors, metadata);
  bar.reset();
  if (command.json) {
    print_json(said);
  }
}

}  // namespace

void add_forward(CLI::App& parent) {
  auto command = std::make_shared<ForwardCommand>();
  CLI::App& app = add_command(parent, "forward", kForwardExamples);
  add_model_argument(app, "DIR", command->directory, "model directory").required();
  app.add_option("--input", command->input,
                 "safetensors file with input_ids [B, N] and, if you like, attention_mask, token_type_ids, "
                 "global_attention_mask, and for a model with companions global_input_ids [B, G] with sentence_ids and "
                 "more (docs/mechanisms.md); an encoder-decoder also needs decoder_input_ids and takes "
                 "decoder_attention_mask, but no token_type_ids")
      ->option_text("FILE")
      ->required();
  app.add_option("--output", command->output,
                 "safetensors file to write; its metadata says which attention pattern was computed")
      ->option_text("FILE")
      ->required();
  add_encoder_flags(app, command->encoder);
  add_json_flag(app, command->json);
  app.callback([command] { run_forward(*command); });
}

}  // namespace weft::cli
