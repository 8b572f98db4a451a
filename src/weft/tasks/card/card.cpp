// SPDX-License-Identifier: Apache-2.0
// Each ability has its form of the card: a config and the names in the weights' files say all of it.
#include "weft/tasks/card/card.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_decoder/weights.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/int8/quantization_config.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/tensor_file.h"
#include "weft/models/encoder_decoder.h"
#include "weft/models/encoder_model.h"
#include "weft/tasks/embedding/recipe.h"
#include "weft/text/hugging_face.h"

namespace weft::tasks {
namespace {

using checkpoint::Ability;
using checkpoint::OpenedModel;
using formats::Json;

std::int64_t element_count(const formats::TensorInfo& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    count *= size;
  }
  return count;
}

// Scales belong to the codes that stand for the numbers.
std::int64_t element_count(const formats::TensorFile& file, bool has_scales) {
  std::int64_t count = 0;
  for (const formats::TensorInfo& tensor : file.tensors()) {
    const bool is_scale = has_scales && tensor.name.ends_with(checkpoint::scale_name(""));
    count += is_scale ? 0 : element_count(tensor);
  }
  return count;
}

Card predictor_card(const OpenedModel& directory) {
  const models::TransformerConfig config = checkpoint::load_config(directory);
  const std::int64_t length = config.max_position_embeddings;
  Card card{
      .json = {{"family", "weft"},
               {"kind", config.is_decoder ? "decoder" : "encoder"},
               {"parameters", element_count(*formats::open_tensor_directory(directory.path()), directory.holds_int8())},
               {"layers", config.num_hidden_layers},
               {"width", config.hidden_size},
               {"heads", config.num_attention_heads},
               {"positions", length}},
      .attention = {{"", summarize_attention(config, length), length}}};
  card.json["attention"] = attention_json(card.attention.front().layers);
  card.json["config"] = formats::to_json(config);
  return card;
}

Json stack_json(std::int64_t layers, std::int64_t heads, std::int64_t feed_forward, std::int64_t positions) {
  return {{"layers", layers}, {"heads", heads}, {"feed_forward", feed_forward}, {"positions", positions}};
}

std::string tables_text(const models::EncoderDecoderConfig& config) {
  return concat(config.share_embeddings ? "one for source and target" : "one for the source, one for the target",
                config.tie_word_embeddings ? ", which the head uses" : ", and one for the head");
}

Card writer_card(const OpenedModel& directory) {
  models::EncoderDecoderConfig config = checkpoint::load_encoder_decoder_config(directory);
  const PairAttentionSummary attention = summarize_attention(config);
  const std::unique_ptr<formats::TensorFile> weights = formats::open_tensor_directory(directory.path());
  const checkpoint::EncoderDecoderFile file = checkpoint::describe_encoder_decoder(*weights, config);
  config.share_embeddings = file.shares;
  config.tie_word_embeddings = file.ties;
  const models::EncoderDecoder model(config, at::TensorOptions().device(at::kMeta));
  Json json = {{"family", config.model_type},
               {"kind", "encoder-decoder"},
               {"parameters", model->parameter_count()},
               {"width", config.d_model},
               {"encoder", stack_json(config.encoder_layers, config.encoder_attention_heads, config.encoder_ffn_dim,
                                      config.max_source_positions)},
               {"decoder", stack_json(config.decoder_layers, config.decoder_attention_heads, config.decoder_ffn_dim,
                                      config.max_target_positions)},
               {"vocabulary", {{"source", config.vocab_size}, {"target", config.target_vocab_size()}}},
               {"tables", tables_text(config)}};
  json["encoder_attention"] = attention_json(attention.encoder);
  json["decoder_attention"] = attention_json(attention.decoder);
  json["cross_attention"] = attention_json(attention.cross);
  for (const auto& [name, value] : model->computed()) {
    json[name] = value;
  }
  json["config"] = formats::to_json(config);
  return {.json = std::move(json),
          .attention = {{"encoder ", attention.encoder, config.max_source_positions},
                        {"decoder ", attention.decoder, config.max_target_positions},
                        {"cross-", attention.cross, 0}}};
}

std::int64_t longest_text(const checkpoint::SentenceDirectory& sentence, std::int64_t positions) {
  return sentence.max_seq_length > 0 ? std::min(sentence.max_seq_length, positions) : positions;
}

// What sentence-transformers put around the model, or nothing.
std::optional<Json> sentence_json(const OpenedModel& directory) {
  const auto sentence = checkpoint::read_sentence_directory(directory.root());
  if (!sentence) {
    return std::nullopt;
  }
  const checkpoint::ReadingFacts facts = directory.facts(checkpoint::Ability::kRead).reads;
  Json summary{{"model_type", sentence->library_class},
               {"max_length", longest_text(*sentence, facts.longest)},
               {"do_lower_case", sentence->do_lower_case},
               {"prompts", Json::object()},
               {"default_prompt_name", Json(nullptr)}};
  for (const auto& [name, text] : sentence->prompts) {
    summary["prompts"][name] = text;
  }
  if (!sentence->default_prompt_name.empty()) {
    summary["default_prompt_name"] = sentence->default_prompt_name;
  }
  if (!sentence->is_cross_encoder()) {
    const EmbedRecipe recipe = make_recipe(sentence, facts.width, {}, quote(directory.root().native(), 4096));
    summary["modules"] = "Transformer, " + checkpoint::modules_text(sentence->modules);
    summary["embedding"] = applied(recipe);
    summary["similarity"] = sentence->similarity;
  }
  return summary;
}

Card reader_card(const OpenedModel& directory) {
  const models::EncoderConfig config = checkpoint::load_encoder_config(directory);
  const models::Head head = directory.head();
  const models::EncoderModel model(config, head, models::EncoderOptions{}, at::TensorOptions().device(at::kMeta));
  Json json = {{"family", config.model_type},
               {"kind", "encoder"},
               {"head", models::to_string(head)},
               {"parameters", model->parameter_count()},
               {"layers", config.num_hidden_layers},
               {"width", config.hidden_size},
               {"heads", config.num_attention_heads},
               {"feed_forward", config.intermediate_size},
               {"positions", config.maximum_length()},
               {"vocabulary", config.vocab_size},
               {"labels", models::has_labels(head) ? Json(config.id2label) : Json::array()},
               {"tokenizer", text::HuggingFaceTokenizer::present_in(directory.path())}};
  if (checkpoint::is_cross_encoder(directory)) {
    const checkpoint::CrossEncoderSettings settings = checkpoint::read_cross_encoder(directory);
    json["rerank"] = {{"activation", settings.activation}, {"prompt", settings.prompt}};
  }
  for (const auto& [name, value] : model->computed()) {
    json[name] = value;
  }
  if (std::optional<Json> sentence = sentence_json(directory)) {
    json["sentence_transformers"] = std::move(*sentence);
  }
  return {.json = std::move(json), .attention = {}};
}

using MakeCard = Card (*)(const OpenedModel& directory);
constexpr std::array kCards{checkpoint::Way<MakeCard>{Ability::kPredict, predictor_card},
                            checkpoint::Way<MakeCard>{Ability::kDraw, predictor_card},
                            checkpoint::Way<MakeCard>{Ability::kWrite, writer_card},
                            checkpoint::Way<MakeCard>{Ability::kRead, reader_card}};

}  // namespace

Card card_of(const OpenedModel& directory) {
  Card card = way_of(directory, kCards)(directory);
  if (directory.holds_int8()) {
    card.json["weights"] = "int8";
  }
  return card;
}

}  // namespace weft::tasks
