// SPDX-License-Identifier: Apache-2.0
// Two lists of fields for one architecture with a head: a decoder, or an encoder for masked tokens. Local layers are
// patterns.
#include "weft/models/families/reformer/config_json.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/mechanisms/spec.h"
#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/models/families/require_supported.h"
#include "weft/models/stack/stack_config.h"
#include "weft/text/hugging_face.h"
#include "weft/text/sentencepiece/reformer_pieces.h"

namespace weft::models {
namespace {

using formats::Json;

constexpr const char* kReformer = "reformer";
constexpr const char* kDecoderClass = "ReformerModelWithLMHead";
constexpr const char* kEncoderClass = "ReformerForMaskedLM";
constexpr std::int64_t kByteVocabulary = 258;  // an encoder may have a mask behind them

/// Whether the config is that of an encoder with a head for a task, or with none.
bool has_head_for_task(const Json& config) {
  const Json classes = config.value("architectures", Json());
  const auto is = [&](const char* name) { return classes == Json::array({name}); };
  return config.value("is_decoder", Json(false)) == false &&
         (is("ReformerForSequenceClassification") || is("ReformerForQuestionAnswering") || is("ReformerModel"));
}

bool is_of_bytes(std::int64_t vocabulary, bool is_decoder) {
  return vocabulary == kByteVocabulary || (!is_decoder && vocabulary == kByteVocabulary + 1);
}

/// The fields that say what the model is, with the defaults of ReformerConfig; hash_seed and num_buckets have several
/// forms and are read by themselves.
struct ReformerFields {
  std::int64_t vocab_size = 320;
  std::int64_t hidden_size = 256;
  std::int64_t num_attention_heads = 12;
  std::int64_t attention_head_size = 64;
  std::int64_t feed_forward_size = 512;
  std::int64_t max_position_embeddings = 4096;
  bool axial_pos_embds = true;
  std::vector<std::int64_t> axial_pos_shape = {64, 64};
  std::vector<std::int64_t> axial_pos_embds_dim = {64, 192};
  std::vector<std::string> attn_layers = {"local", "lsh", "local", "lsh", "local", "lsh"};
  std::int64_t local_attn_chunk_length = 64;
  std::int64_t local_num_chunks_before = 1;
  std::int64_t local_num_chunks_after = 0;
  std::int64_t lsh_attn_chunk_length = 64;
  std::int64_t lsh_num_chunks_before = 1;
  std::int64_t lsh_num_chunks_after = 0;
  std::int64_t num_hashes = 1;
  std::string hidden_act = "relu";
  double hidden_dropout_prob = 0.05;
  double local_attention_probs_dropout_prob = 0.05;
  double lsh_attention_probs_dropout_prob = 0.0;
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  std::int64_t chunk_size_feed_forward = 0;
  std::int64_t chunk_size_lm_head = 0;
  bool is_decoder = false;
  bool tie_word_embeddings = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ReformerFields;
    constexpr std::int64_t kLongest = std::int64_t{1} << 30;
    visit(Field{"vocab_size", &C::vocab_size, ""}.range(1, 1 << 24));
    visit(Field{"hidden_size", &C::hidden_size, ""}.range(1, 1 << 18));
    visit(Field{"num_attention_heads", &C::num_attention_heads, ""}.range(1, 4096));
    visit(Field{"attention_head_size", &C::attention_head_size, ""}.range(1, 1 << 16));
    visit(Field{"feed_forward_size", &C::feed_forward_size, ""}.range(1, 1 << 20));
    visit(Field{"max_position_embeddings", &C::max_position_embeddings, ""}.range(1, kLongest));
    visit(Field{"axial_pos_embds", &C::axial_pos_embds, ""});
    visit(Field{"axial_pos_shape", &C::axial_pos_shape, ""});
    visit(Field{"axial_pos_embds_dim", &C::axial_pos_embds_dim, ""});
    visit(Field{"attn_layers", &C::attn_layers, ""});
    visit(Field{"local_attn_chunk_length", &C::local_attn_chunk_length, ""}.range(1, kLongest));
    visit(Field{"local_num_chunks_before", &C::local_num_chunks_before, ""}.range(0, 64));
    visit(Field{"local_num_chunks_after", &C::local_num_chunks_after, ""}.range(0, 64));
    visit(Field{"lsh_attn_chunk_length", &C::lsh_attn_chunk_length, ""}.range(1, kLongest));
    visit(Field{"lsh_num_chunks_before", &C::lsh_num_chunks_before, ""}.range(0, 64));
    visit(Field{"lsh_num_chunks_after", &C::lsh_num_chunks_after, ""}.range(0, 64));
    visit(Field{"num_hashes", &C::num_hashes, ""}.range(1, 64));
    visit(Field{"hidden_act", &C::hidden_act, ""});
    visit(Field{"hidden_dropout_prob", &C::hidden_dropout_prob, ""}.range(0.0, 0.999));
    visit(Field{"local_attention_probs_dropout_prob", &C::local_attention_probs_dropout_prob, ""}.range(0.0, 0.999));
    visit(Field{"lsh_attention_probs_dropout_prob", &C::lsh_attention_probs_dropout_prob, ""}.range(0.0, 0.999));
    visit(Field{"layer_norm_eps", &C::layer_norm_eps, ""}.range(1e-12, 1.0));
    visit(Field{"initializer_range", &C::initializer_range, ""}.range(0.0, 10.0));
    visit(Field{"chunk_size_feed_forward", &C::chunk_size_feed_forward, ""}.range(0, kLongest));
    visit(Field{"chunk_size_lm_head", &C::chunk_size_lm_head, ""}.range(0, kLongest));
    visit(Field{"is_decoder", &C::is_decoder, ""});
    visit(Field{"tie_word_embeddings", &C::tie_word_embeddings, ""});
  }
};

/// A decoder's chunks see none behind them: transformers refuses them, and its circle of chunks would lead to the
/// first.
void check_chunks(const ReformerFields& fields, const std::string& where) {
  const bool behind = fields.local_num_chunks_after > 0 || fields.lsh_num_chunks_after > 0;
  require_supported(!fields.is_decoder || !behind, where,
                    ": local_num_chunks_after and lsh_num_chunks_after must be 0 in a decoder, found ",
                    fields.local_num_chunks_after, " and ", fields.lsh_num_chunks_after);
}

const char* architecture_for(bool is_decoder) { return is_decoder ? kDecoderClass : kEncoderClass; }

void check_class(const Json& json, bool is_decoder, const std::string& where) {
  const auto found = json.find("architectures");
  const bool fits = found == json.end() || *found == Json::array({architecture_for(is_decoder)}) || found->is_null() ||
                    has_head_for_task(json);
  require_supported(fits, where, ": architectures must be [\"", architecture_for(is_decoder), "\"] with is_decoder ",
                    is_decoder ? "true" : "false", ", found ",
                    found == json.end() ? "none" : formats::quoted_json(*found));
}

/// "" where it is null: then the buckets follow from the longest text; 512 or 64x128 otherwise.
std::string buckets_text(const Json& json, const std::string& where) {
  const auto found = json.find("num_buckets");
  if (found == json.end() || found->is_null()) {
    return {};
  }
  std::vector<std::int64_t> factors(1);
  if (found->is_array()) {
    formats::read_value(*found, where + ": num_buckets", factors);
  } else {
    formats::read_value(*found, where + ": num_buckets", factors.front());
  }
  std::string text;
  for (const std::int64_t factor : factors) {
    text += concat(text.empty() ? "" : "x", factor);
  }
  return text;
}

/// `step` where it is null: new rotations in each training step.
std::string hash_seed(const Json& json, const std::string& where) {
  const auto found = json.find("hash_seed");
  if (found == json.end() || found->is_null()) {
    return "step";
  }
  std::int64_t seed = 0;
  formats::read_value(*found, where + ": hash_seed", seed);
  return concat(seed);
}

/// Tokens that transformers pads a text to a multiple of: whole chunks of every kind that the model has.
std::int64_t whole_chunks(const ReformerFields& fields) {
  std::int64_t tokens = 1;
  for (const std::string& layer : fields.attn_layers) {
    tokens = std::lcm(tokens, layer == "lsh" ? fields.lsh_attn_chunk_length : fields.local_attn_chunk_length);
  }
  return tokens;
}

/// Chunks of an encoder lie on a circle. In a decoder the way round the circle leads to later positions alone.
std::string local_expression(const ReformerFields& fields) {
  const std::int64_t chunk = fields.local_attn_chunk_length;
  const std::int64_t multiple = whole_chunks(fields) / chunk;
  const std::string seen = fields.is_decoder
                               ? concat("window(left=", fields.local_num_chunks_before)
                               : concat("circle(left=", fields.local_num_chunks_before,
                                        ", right=", fields.local_num_chunks_after, ", multiple=", multiple);
  return concat("block(", chunk, ", ", seen, "))");
}

std::string hashed_expression(const ReformerFields& fields, const std::string& buckets, const std::string& seed) {
  return concat("lsh(causal=", fields.is_decoder ? "position" : "none", buckets.empty() ? "" : ", buckets=", buckets,
                ", rounds=", fields.num_hashes, ", chunk=", fields.lsh_attn_chunk_length,
                ", left=", fields.lsh_num_chunks_before, ", right=", fields.lsh_num_chunks_after,
                ", multiple=", whole_chunks(fields), ", seed=", seed, ")");
}

std::vector<std::string> layer_expressions(const ReformerFields& fields, const Json& json, const std::string& where) {
  for (const std::string& layer : fields.attn_layers) {
    if (layer != "local" && layer != "lsh") {
      fail(ErrorKind::kFormat, where, ": attn_layers must hold local and lsh, found ", quote(layer));
    }
  }
  const std::string local = local_expression(fields);
  const std::string hashed = hashed_expression(fields, buckets_text(json, where), hash_seed(json, where));
  std::vector<std::string> expressions;
  expressions.reserve(fields.attn_layers.size());
  for (const std::string& layer : fields.attn_layers) {
    expressions.push_back(layer == "local" ? local : hashed);
  }
  return expressions;
}

/// `block(N, NAME(...))`: N, and what stands before the last bracket.
struct LocalChunks {
  std::int64_t chunk = 0;
  std::string seen;
};

LocalChunks local_chunks(const std::string& expression, std::string_view name) {
  constexpr std::string_view kBlock = "block(";
  const std::size_t comma = expression.find(", ");
  const bool fits = expression.starts_with(kBlock) && comma != std::string::npos && expression.ends_with("))") &&
                    std::string_view(expression).substr(comma + 2).starts_with(name);
  const auto chunk =
      fits ? integer_of(std::string_view(expression).substr(kBlock.size(), comma - kBlock.size())) : std::nullopt;
  require_supported(chunk.value_or(0) > 0, "reformer: attention must be `block(N, ", name,
                    "(...))` or `lsh(...)`, found `", expression, "`");
  return {*chunk, expression.substr(comma + 2, expression.size() - comma - 3)};
}

void read_local(const std::string& expression, ReformerFields& fields) {
  const char* const name = fields.is_decoder ? "window" : "circle";
  const LocalChunks found = local_chunks(expression, name);
  attention::MechanismSettings given(found.seen, name);
  fields.local_attn_chunk_length = found.chunk;
  fields.local_num_chunks_before = given.number("left", 0, 0, 64);
  fields.local_num_chunks_after = given.number("right", 0, 0, 64);
}

/// Of the hashed layers, which have all the same settings: what config.json says about buckets and the seed.
Json read_hashed(const std::string& expression, ReformerFields& fields) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  attention::MechanismSettings given(expression, "lsh");
  const char* const causal = fields.is_decoder ? "position" : "none";
  require_supported(given.word("causal", {"none", "position", "rank"}) == causal,
                    "reformer: lsh must have causal=", causal, ", found `", expression, "`");
  Json buckets = nullptr;
  const std::string text = given.text("buckets");
  if (!text.empty()) {
    buckets = Json::array();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('x', begin), text.size());
      buckets.push_back(integer_of(std::string_view(text).substr(begin, end - begin)).value_or(0));
      begin = end + 1;
    }
    buckets = buckets.size() == 1 ? buckets.front() : buckets;
  }
  fields.num_hashes = given.number("rounds", 2, 1, 64);
  fields.lsh_attn_chunk_length = given.number("chunk", 64, 1, kMost);
  fields.lsh_num_chunks_before = given.number("left", 1, 0, 64);
  fields.lsh_num_chunks_after = given.number("right", 0, 0, 64);
  const std::string seed = given.text("seed");
  return {{"num_buckets", buckets}, {"hash_seed", seed == "step" ? Json() : Json(integer_of(seed).value_or(0))}};
}

/// What was read must say all of the expressions: texts are padded to whole chunks of both kinds, for example.
void check_read(const TransformerConfig& config, const ReformerFields& fields, const Json& others) {
  const std::vector<std::string> said = layer_expressions(fields, others, "reformer");
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const auto canonical = [&](const std::string& text) {
      return attention::parse_mechanism(text, config.directory).description;
    };
    const std::string& expected = said[static_cast<std::size_t>(layer)];
    require_supported(canonical(config.attention_of(layer)) == canonical(expected), "reformer: attention of layer ",
                      layer, " must be `", canonical(expected), "`, found `", config.attention_of(layer), "`");
  }
}

/// attn_layers and what each kind of layer has; returns the fields of several forms.
Json read_layers(const TransformerConfig& config, ReformerFields& fields) {
  Json others = {{"num_buckets", nullptr}, {"hash_seed", nullptr}};
  const std::string* local = nullptr;
  const std::string* hashed = nullptr;
  fields.attn_layers.clear();
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string& expression = config.attention_of(layer);
    const bool hashes = expression.starts_with("lsh");
    const std::string*& first = hashes ? hashed : local;
    if (first == nullptr) {
      first = &expression;
      if (hashes) {
        others = read_hashed(expression, fields);
      } else {
        read_local(expression, fields);
      }
    }
    require_supported(*first == expression, "reformer: attention must be the same in all ", hashes ? "lsh" : "local",
                      " layers, found `", *first, "` and `", expression, "`");
    fields.attn_layers.emplace_back(hashes ? "lsh" : "local");
  }
  return others;
}

void check_written(const TransformerConfig& config) {
  const auto needs = [](bool holds, const char* rule) { require_supported(holds, "reformer: ", rule); };
  needs(config.joins_streams(), "residual must be reversible, and tie_word_embeddings false");
  needs(!config.attention_bias, "attention_bias must be false");
  needs(config.lm_head_bias, "lm_head_bias must be true");
  needs(config.position_embedding == "axial" || config.position_embedding == "learned",
        "position_embedding must be axial or learned");
  needs(config.key_value_heads() == config.num_attention_heads, "num_key_value_heads must be num_attention_heads");
  needs(config.hidden_act != "swiglu", "hidden_act must have no gate");
  needs(config.tokenizer_class == "huggingface" || config.tokenizer_class == "sentencepiece" ||
            (config.tokenizer_class == "bytes+2" && is_of_bytes(config.vocab_size, config.is_decoder)),
        "the tokeniser must be huggingface, sentencepiece, or bytes+2 with a vocabulary of 258 (an encoder: or 259)");
}

}  // namespace

TransformerConfig reformer_from_json(const Json& json, const std::filesystem::path& directory) {
  const std::string where = (directory / "config.json").string();
  ReformerFields fields;
  formats::update_from_json(fields, formats::only_fields_of<ReformerFields>(json), where);
  check_fields(fields, where);
  check_class(json, fields.is_decoder, where);
  check_chunks(fields, where);
  require_supported(!fields.tie_word_embeddings, where,
                    ": tie_word_embeddings must be false: the head has 2 hidden_size ", "columns");
  TransformerConfig config;
  config.vocab_size = fields.vocab_size;
  config.hidden_size = fields.hidden_size;
  config.num_hidden_layers = static_cast<std::int64_t>(fields.attn_layers.size());
  config.num_attention_heads = fields.num_attention_heads;
  config.attention_head_size = fields.attention_head_size;
  config.intermediate_size = fields.feed_forward_size;
  config.max_position_embeddings = fields.max_position_embeddings;
  config.position_embedding = fields.axial_pos_embds ? "axial" : "learned";
  if (fields.axial_pos_embds) {
    config.axial_pos_shape = fields.axial_pos_shape;
    config.axial_pos_embds_dim = fields.axial_pos_embds_dim;
  }
  config.is_decoder = fields.is_decoder;
  config.residual = "reversible";
  config.hidden_act = fields.hidden_act;
  config.attention = layer_expressions(fields, json, where);
  config.attention_bias = false;
  config.hidden_dropout_prob = fields.hidden_dropout_prob;
  const bool has_local =
      std::find(fields.attn_layers.begin(), fields.attn_layers.end(), "local") != fields.attn_layers.end();
  config.attention_probs_dropout_prob =
      has_local ? fields.local_attention_probs_dropout_prob : fields.lsh_attention_probs_dropout_prob;
  config.initializer_range = fields.initializer_range;
  config.tie_word_embeddings = false;
  config.lm_head_bias = true;
  config.layer_norm_eps = fields.layer_norm_eps;
  config.chunk_size_feed_forward = fields.chunk_size_feed_forward;
  config.loss_chunk_size = fields.chunk_size_lm_head;
  const bool bytes =
      is_of_bytes(fields.vocab_size, fields.is_decoder) && !text::HuggingFaceTokenizer::present_in(directory);
  config.tokenizer_class = bytes ? "bytes+2" : text::has_reformer_pieces(directory) ? "sentencepiece" : "huggingface";
  config.directory = directory;
  validate(config, where);
  return config;
}

Json reformer_to_json(const TransformerConfig& config) {
  check_written(config);
  ReformerFields fields;
  fields.is_decoder = config.is_decoder;
  const Json others = read_layers(config, fields);
  check_chunks(fields, "reformer");
  check_read(config, fields, others);
  fields.vocab_size = config.vocab_size;
  fields.hidden_size = config.hidden_size;
  fields.num_attention_heads = config.num_attention_heads;
  fields.attention_head_size = config.head_dim();
  fields.feed_forward_size = config.feed_forward_size();
  fields.max_position_embeddings = config.max_position_embeddings;
  fields.axial_pos_embds = config.position_embedding == "axial";
  if (fields.axial_pos_embds) {
    const layers::AxialShape axial = stack_config(config).embeddings.axial;
    fields.axial_pos_shape = {axial.rows, axial.columns};
    fields.axial_pos_embds_dim = {axial.row_width, axial.column_width};
  }
  fields.hidden_act = config.hidden_act;
  fields.hidden_dropout_prob = config.hidden_dropout_prob;
  fields.local_attention_probs_dropout_prob = config.attention_probs_dropout_prob;
  fields.lsh_attention_probs_dropout_prob = config.attention_probs_dropout_prob;
  fields.initializer_range = config.initializer_range;
  fields.layer_norm_eps = config.layer_norm_eps;
  fields.chunk_size_feed_forward = config.chunk_size_feed_forward;
  fields.chunk_size_lm_head = config.loss_chunk_size;
  Json json = formats::to_json(fields);
  json.update(others);
  json.update({{"architectures", {architecture_for(config.is_decoder)}},
               {"model_type", kReformer},
               {"pad_token_id", 0},
               {"eos_token_id", 2}});
  return json;
}

}  // namespace weft::models
