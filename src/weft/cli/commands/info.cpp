// SPDX-License-Identifier: Apache-2.0
// `weft info`: what a model or run directory holds. Weights are read only to be checked, and where several copies
// of an encoder-decoder's token table may be equal.
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/cli/commands/attention_summary.h"
#include "weft/cli/commands/pair_summary.h"
#include "weft/cli/commands/run_summary.h"
#include "weft/cli/commands/sentence_summary.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/help.h"
#include "weft/cli/model_argument.h"
#include "weft/cli/output.h"
#include "weft/formats/tensor_file.h"

namespace weft::cli {
namespace {

using formats::Json;

struct InfoOptions {
  std::string directory;
  bool tensors = false;
  bool check_tensors = false;
  bool json = false;
};

// What the flags ask about tensors, into what a program reads.
void add_tensors(Json& json, const InfoOptions& options, const formats::TensorFile& weights) {
  if (options.tensors) {
    json["tensors"] = tensors_json(weights);
  }
  if (options.check_tensors) {
    json["not_finite"] = not_finite_json(weights);
  }
}

// The same for people.
std::string tensors_said(const InfoOptions& options, const formats::TensorFile& weights) {
  return (options.tensors ? tensors_text(weights) : "") +
         (options.check_tensors ? not_finite_text(not_finite_json(weights)) : "");
}

// What a program reads: the config as it stands in the directory, beside what follows from it.
void print_info_json(const InfoOptions& options, const models::TransformerConfig& config,
                     const formats::TensorFile& weights) {
  Json json = {{"family", "weft"},
               {"kind", config.is_decoder ? "decoder" : "encoder"},
               {"parameters", element_count(weights)},
               {"layers", config.num_hidden_layers},
               {"width", config.hidden_size},
               {"heads", config.num_attention_heads},
               {"positions", config.max_position_embeddings},
               {"attention", attention_json(summarize_attention(config, config.max_position_embeddings))},
               {"config", formats::to_json(config)}};
  if (const std::optional<Json> run = run_json(options.directory)) {
    json["training"] = *run;
  }
  add_tensors(json, options, weights);
  print_json(json);
}

// What a directory's own summary and rows say, with its run and its tensors, which lie in `folder`.
void print_described(const InfoOptions& options, const std::filesystem::path& folder, Json summary, Rows rows) {
  const std::optional<Json> run = run_json(options.directory);
  const std::unique_ptr<formats::TensorFile> weights = formats::open_tensor_directory(folder);
  if (options.json) {
    if (run) {
      summary["training"] = *run;
    }
    add_tensors(summary, options, *weights);
    print_json(summary);
    return;
  }
  if (run) {
    const Rows trained = run_rows(*run, options.directory);
    rows.insert(rows.end(), trained.begin(), trained.end());
  }
  std::cout << name_table(rows) << tensors_said(options, *weights);
}

// A directory of Hugging Face: the config as it stands there is the user's own file.
void print_encoder(const InfoOptions& options, const checkpoint::OpenedModel& directory) {
  Json summary = encoder_summary(directory);
  Rows rows = encoder_rows(summary);
  if (const std::optional<Json> sentence = sentence_summary(directory)) {
    summary["sentence_transformers"] = *sentence;
    const Rows more = sentence_rows(*sentence);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  print_described(options, directory.path(), summary, rows);
}

void print_info(const InfoOptions& options) {
  const checkpoint::OpenedModel directory = checkpoint::open_model(options.directory);
  if (directory.is_encoder()) {
    print_encoder(options, directory);
    return;
  }
  if (directory.is_encoder_decoder()) {
    const models::EncoderDecoderConfig& pair = directory.encoder_decoder_config();
    const PairAttentionSummary attention = summarize_attention(pair);
    const Json summary = encoder_decoder_summary(directory, attention);
    print_described(options, directory.path(), summary, encoder_decoder_rows(summary, attention_rows(attention, pair)));
    return;
  }
  const models::TransformerConfig& config = directory.own_config();
  // Its header only: no weight is read.
  const std::unique_ptr<formats::TensorFile> opened = formats::open_tensor_directory(options.directory);
  const formats::TensorFile& weights = *opened;
  if (options.json) {
    print_info_json(options, config, weights);
    return;
  }
  Rows rows = model_rows(config, element_count(weights));
  const std::int64_t length = config.max_position_embeddings;
  for (auto& row : attention_rows(summarize_attention(config, length), length)) {
    rows.push_back(std::move(row));
  }
  if (const std::optional<Json> run = run_json(options.directory)) {
    for (auto& row : run_rows(*run, options.directory)) {
      rows.push_back(std::move(row));
    }
  }
  std::cout << name_table(rows) << tensors_said(options, weights);
}

}  // namespace

void add_info(CLI::App& parent) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App& app = add_command(
      parent, "info",
      "  weft info run\n  weft info run --tensors\n  weft info run --check-tensors\n  weft info run --json");
  add_model_argument(app, "DIR", options->directory, "run or model directory").required();
  app.add_flag("--tensors", options->tensors, "list every tensor with its dtype and shape");
  app.add_flag("--check-tensors", options->check_tensors, "read every weight and report what is NaN or infinite");
  add_json_flag(app, options->json);
  app.callback([options] { print_info(*options); });
}

}  // namespace weft::cli
