// SPDX-License-Identifier: Apache-2.0
// An encoder-decoder by its config and the names of its tensors.
#include "weft/cli/commands/pair_summary.h"

#include "weft/checkpoint/encoder_decoder/weights.h"
#include "weft/core/error.h"
#include "weft/models/encoder_decoder.h"

namespace weft::cli {
namespace {

using formats::Json;
using models::EncoderDecoderConfig;

Json stack_json(std::int64_t layers, std::int64_t heads, std::int64_t feed_forward, std::int64_t positions) {
  return {{"layers", layers}, {"heads", heads}, {"feed_forward", feed_forward}, {"positions", positions}};
}

std::string tables_text(const EncoderDecoderConfig& config) {
  return concat(config.share_embeddings ? "one for source and target" : "one for the source, one for the target",
                config.tie_word_embeddings ? ", which the head uses" : ", and one for the head");
}

std::string stack_text(const Json& stack) {
  const auto number = [&](const char* name) { return stack.at(name).get<std::int64_t>(); };
  return concat(counted(number("layers"), "layer"), ", ", counted(number("heads"), "head"), ", feed-forward ",
                digits(number("feed_forward")), ", ", digits(number("positions")), " tokens");
}

}  // namespace

Json encoder_decoder_summary(EncoderDecoderConfig config, const formats::TensorFile& weights,
                             const PairAttentionSummary& attention) {
  const checkpoint::EncoderDecoderFile file = checkpoint::describe_encoder_decoder(weights, config);
  config.share_embeddings = file.shares;
  config.tie_word_embeddings = file.ties;
  const models::EncoderDecoder model(config, at::TensorOptions().device(at::kMeta));
  Json summary = {{"family", config.model_type},
                  {"kind", "encoder-decoder"},
                  {"parameters", model->parameter_count()},
                  {"width", config.d_model},
                  {"encoder", stack_json(config.encoder_layers, config.encoder_attention_heads, config.encoder_ffn_dim,
                                         config.max_source_positions)},
                  {"decoder", stack_json(config.decoder_layers, config.decoder_attention_heads, config.decoder_ffn_dim,
                                         config.max_target_positions)},
                  {"vocabulary", {{"source", config.vocab_size}, {"target", config.target_vocab_size()}}},
                  {"tables", tables_text(config)}};
  summary["encoder_attention"] = attention_json(attention.encoder);
  summary["decoder_attention"] = attention_json(attention.decoder);
  summary["cross_attention"] = attention_json(attention.cross);
  for (const auto& [name, value] : model->computed()) {
    summary[name] = value;
  }
  summary["config"] = formats::to_json(config);
  return summary;
}

Rows encoder_decoder_rows(const Json& summary, const Rows& attention) {
  const auto number = [](const Json& value) { return digits(value.get<std::int64_t>()); };
  const auto text = [&](const char* name) { return summary.at(name).get<std::string>(); };
  const Json& ids = summary.at("vocabulary");
  Rows rows = {
      {"model", concat(text("family"), " encoder-decoder, ", number(summary.at("parameters")), " parameters")},
      {"width", number(summary.at("width"))},
      {"encoder", stack_text(summary.at("encoder"))},
      {"decoder", stack_text(summary.at("decoder"))},
      {"vocabulary", ids.at("source") == ids.at("target") ? concat(number(ids.at("source")), " ids")
                                                          : concat(number(ids.at("source")), " ids of the source, ",
                                                                   number(ids.at("target")), " of the target")},
      {"tables", text("tables")}};
  rows.insert(rows.end(), attention.begin(), attention.end());
  // What else the encoder would compute comes last, under the names that results have.
  for (const auto& [name, value] : summary.items()) {
    if (value.is_string() && name != "family" && name != "kind" && name != "tables" && name != "attention") {
      rows.emplace_back(name, value.get<std::string>());
    }
  }
  return rows;
}

}  // namespace weft::cli
