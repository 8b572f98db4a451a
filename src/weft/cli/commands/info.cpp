// SPDX-License-Identifier: Apache-2.0
// `weft info`: what a model or run directory holds. Weights are read only to be checked, and where several copies
// of an encoder-decoder's token table may be equal.
#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint/encoder_decoder/directory.h"
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

// What a directory holds: for programs, and as rows for people.
struct Description {
  Json summary;
  Rows rows;
};

void append(Rows& rows, const Rows& more) { rows.insert(rows.end(), more.begin(), more.end()); }

Description describe_own(const checkpoint::OpenedModel& directory, const formats::TensorFile& weights) {
  const models::TransformerConfig config = checkpoint::load_config(directory);
  const std::int64_t length = config.max_position_embeddings;
  const std::vector<AttentionSummary> attention = summarize_attention(config, length);
  Description description{{{"family", "weft"},
                           {"kind", config.is_decoder ? "decoder" : "encoder"},
                           {"parameters", element_count(weights)},
                           {"layers", config.num_hidden_layers},
                           {"width", config.hidden_size},
                           {"heads", config.num_attention_heads},
                           {"positions", length},
                           {"attention", attention_json(attention)},
                           {"config", formats::to_json(config)}},
                          model_rows(config, element_count(weights))};
  append(description.rows, attention_rows(attention, length));
  return description;
}

Description describe_pair(const checkpoint::OpenedModel& directory, const formats::TensorFile& weights) {
  const models::EncoderDecoderConfig config = checkpoint::load_encoder_decoder_config(directory);
  const PairAttentionSummary attention = summarize_attention(config);
  Json summary = encoder_decoder_summary(config, weights, attention);
  Rows rows = encoder_decoder_rows(summary, attention_rows(attention, config));
  return {std::move(summary), std::move(rows)};
}

// A directory of Hugging Face: the config as it stands there is the user's own file.
Description describe_encoder(const checkpoint::OpenedModel& directory, const formats::TensorFile&) {
  Description description{encoder_summary(directory), {}};
  description.rows = encoder_rows(description.summary);
  if (const std::optional<Json> sentence = sentence_summary(directory)) {
    description.summary["sentence_transformers"] = *sentence;
    append(description.rows, sentence_rows(*sentence));
  }
  return description;
}

using Describe = Description (*)(const checkpoint::OpenedModel& directory, const formats::TensorFile& weights);
constexpr std::array kDescriptions{checkpoint::Way<Describe>{checkpoint::Ability::kPredict, describe_own},
                                   checkpoint::Way<Describe>{checkpoint::Ability::kDraw, describe_own},
                                   checkpoint::Way<Describe>{checkpoint::Ability::kWrite, describe_pair},
                                   checkpoint::Way<Describe>{checkpoint::Ability::kRead, describe_encoder}};

void print_info(const InfoOptions& options) {
  const checkpoint::OpenedModel directory = checkpoint::open_model(options.directory);
  const Describe describe = way_of(directory, kDescriptions);
  // Its header only: no weight is read.
  const std::unique_ptr<formats::TensorFile> weights = formats::open_tensor_directory(directory.path());
  Description description = describe(directory, *weights);
  const std::optional<Json> run = run_json(options.directory);
  if (options.json) {
    if (run) {
      description.summary["training"] = *run;
    }
    add_tensors(description.summary, options, *weights);
    print_json(description.summary);
    return;
  }
  if (run) {
    append(description.rows, run_rows(*run, options.directory));
  }
  std::cout << name_table(description.rows) << tensors_said(options, *weights);
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
