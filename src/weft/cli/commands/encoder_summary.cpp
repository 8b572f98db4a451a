// SPDX-License-Identifier: Apache-2.0
// The model is built without storage, so that it can be asked what it would compute.
#include "weft/cli/commands/encoder_summary.h"

#include "weft/checkpoint/encoder_directory.h"
#include "weft/cli/output.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/text/hugging_face.h"

namespace weft::cli {
namespace {

using formats::Json;

std::string labels_text(const Json& labels) {
  return joined(labels, ", ", [](const Json& label) { return label.get<std::string>(); });
}

bool has_labels(models::Head head) {
  return head == models::Head::kSequenceClassification || head == models::Head::kTokenClassification;
}

}  // namespace

Json encoder_summary(const std::filesystem::path& directory) {
  const models::EncoderConfig config = checkpoint::load_encoder_config(directory);
  const models::Head head = config.head((directory / "config.json").string() + ": architectures");
  const models::EncoderModel model(config, head, models::EncoderOptions{}, at::TensorOptions().device(at::kMeta));
  Json summary = {{"family", config.model_type},
                  {"kind", "encoder"},
                  {"head", models::to_string(head)},
                  {"parameters", model->parameter_count()},
                  {"layers", config.num_hidden_layers},
                  {"width", config.hidden_size},
                  {"heads", config.num_attention_heads},
                  {"feed_forward", config.intermediate_size},
                  {"positions", config.maximum_length()},
                  {"vocabulary", config.vocab_size},
                  {"labels", has_labels(head) ? Json(config.id2label) : Json::array()},
                  {"tokenizer", text::HuggingFaceTokenizer::present_in(directory)}};
  for (const auto& [name, value] : model->computed()) {
    summary[name] = value;
  }
  return summary;
}

Rows encoder_rows(const Json& summary) {
  const auto number = [&](const char* name) { return digits(summary.at(name).get<std::int64_t>()); };
  Rows rows = {
      {"model", concat(summary.at("family").get<std::string>(), " encoder, ", number("parameters"), " parameters")},
      {"head", summary.at("head").get<std::string>()},
      {"shape", concat(number("layers"), " layers, width ", number("width"), ", ", number("heads"),
                       " heads, feed-forward ", number("feed_forward"))},
      {"positions", number("positions") + " tokens"},
      {"vocabulary", concat(number("vocabulary"), " ids, ",
                            summary.at("tokenizer").get<bool>() ? "with a tokeniser" : "no tokeniser's files")}};
  if (!summary.at("labels").empty()) {
    rows.emplace_back("labels", labels_text(summary["labels"]));
  }
  // What the model would compute comes last, under the names that results have.
  for (const auto& [name, value] : summary.items()) {
    if (value.is_string() && name != "family" && name != "kind" && name != "head") {
      rows.emplace_back(name, value.get<std::string>());
    }
  }
  return rows;
}

}  // namespace weft::cli
