// SPDX-License-Identifier: Apache-2.0
// `weft forward`: tensors in, tensors out, under the names of transformers; for comparisons and pipelines.
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <c10/core/InferenceMode.h>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/help.h"
#include "weft/cli/output.h"
#include "weft/cli/tasks/encoder_flags.h"
#include "weft/cli/watched_progress.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::cli {
namespace {

constexpr const char* kForwardExamples =
    "  weft forward bigbird-roberta-base --input ids.safetensors --output hidden.safetensors\n"
    "  weft forward longformer-squad --input ids.safetensors --output logits.safetensors --dtype bfloat16 --threads 2";

struct ForwardCommand {
  std::string directory;
  std::string input;
  std::string output;
  EncoderFlags encoder;
  bool json = false;
};

// Whole numbers of any width, and bool; what it stands for is the model's to check.
at::Tensor whole_numbers(const std::string& path, const std::string& name, const at::Tensor& tensor) {
  if (!at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true)) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": tensor ", quote(name), " must hold whole numbers, found ",
         tensor.toString());
  }
  return tensor.to(at::kLong);
}

models::EncoderInput read_input(const std::string& path) {
  models::EncoderInput input;
  for (const auto& [name, tensor] : checkpoint::load_tensors(path)) {
    at::Tensor* place = name == "input_ids"               ? &input.input_ids
                        : name == "attention_mask"        ? &input.attention_mask
                        : name == "token_type_ids"        ? &input.token_type_ids
                        : name == "global_attention_mask" ? &input.global_attention_mask
                                                          : nullptr;
    if (place == nullptr) {
      fail(ErrorKind::kFormat, quote(path, 4096), ": unknown tensor ", quote(name),
           ", expected input_ids, attention_mask, token_type_ids or global_attention_mask");
    }
    *place = whole_numbers(path, name, tensor);
  }
  if (!input.input_ids.defined()) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": has no tensor 'input_ids'");
  }
  return input;
}

// The model says which input is wrong; the user wants to know in which file.
checkpoint::NamedTensors named_forward(models::EncoderModel& model, const models::EncoderInput& input,
                                       const std::string& path) {
  try {
    return model->forward(input).named();
  } catch (const Error& error) {
    throw Error(error.kind(), concat(quote(path, 4096), ": ", error.what()), error.hint());
  }
}

formats::Json shapes_json(const checkpoint::NamedTensors& tensors) {
  formats::Json shapes = formats::Json::object();
  for (const auto& [name, tensor] : tensors) {
    shapes[name] = tensor.sizes().vec();
  }
  return shapes;
}

void run_forward(const ForwardCommand& command) {
  const EncoderSettings settings = encoder_settings(command.encoder, "weft forward");
  const models::EncoderInput input = read_input(command.input);
  std::optional<BusyBar> bar("computing");
  checkpoint::EncoderLoadOptions load;
  load.encoder = settings.encoder;
  load.dtype = settings.dtype;
  load.check_finite = settings.check_finite;
  models::EncoderModel model = checkpoint::load_encoder(command.directory, load);
  const c10::InferenceMode no_graph;
  const auto start = std::chrono::steady_clock::now();
  const checkpoint::NamedTensors tensors = named_forward(model, input, command.input);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  formats::Metadata metadata{{"dtype", dtype_text(settings.dtype)}};
  formats::Json said = {{"outputs", shapes_json(tensors)},
                        {"seconds", seconds},
                        {"threads", settings.threads},
                        {"dtype", dtype_text(settings.dtype)}};
  for (const auto& [name, value] : model->computed()) {
    metadata[name] = value;
    said[name] = value;
  }
  checkpoint::save_tensors(command.output, tensors, metadata);
  bar.reset();
  if (command.json) {
    print_json(said);
  }
}

}  // namespace

void add_forward(CLI::App& parent) {
  auto command = std::make_shared<ForwardCommand>();
  CLI::App& app = add_command(parent, "forward", kForwardExamples);
  app.add_option("DIR", command->directory, "model directory")->required();
  app.add_option("--input", command->input,
                 "safetensors file with input_ids [B, N] and, if you like, attention_mask, token_type_ids, "
                 "global_attention_mask")
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
