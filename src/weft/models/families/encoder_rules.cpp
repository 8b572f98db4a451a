// SPDX-License-Identifier: Apache-2.0
// What families share, and the plan of one.
#include "weft/models/families/encoder_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/models/families/replaced_fields.h"

namespace weft::models {
namespace {

std::string names_of_families_with(std::string_view field) { return in_words(families_with(field), " and "); }

layers::BlockConfig block_of(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  const EncoderRules& rules = encoder_rules(config);
  const std::string given = replacing_attention(config, options, layer);
  layers::BlockConfig block;
  block.layer = layer;
  block.hidden_size = config.hidden_size;
  block.heads = config.num_attention_heads;
  block.key_value_heads = config.num_attention_heads;
  block.intermediate_size = config.intermediate_size;
  block.maximum_length = config.max_position_embeddings;
  block.attention = given.empty() ? rules.attention(config, options, layer) : given;
  // What was asked for beside the config names files where it was asked.
  block.directory = options.attention.empty() ? config.directory : std::filesystem::path();
  block.self_attention = rules.self_attention(config, options, !given.empty());
  block.activation = config.hidden_act;
  block.norm_first = false;
  block.norm.epsilon = config.layer_norm_eps;
  block.dropout = config.hidden_dropout_prob;
  block.attention_dropout = config.attention_probs_dropout_prob;
  return block;
}

bool is_among(const std::vector<Head>& heads, Head head) {
  return std::find(heads.begin(), heads.end(), head) != heads.end();
}

struct Arrow {
  std::string_view from;
  std::string_view to;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// Both sides of `A => B`: layers that have A get B.
std::optional<Arrow> split_arrow(std::string_view expression) {
  constexpr std::string_view kArrow = "=>";
  const std::size_t at = expression.find(kArrow);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  return Arrow{trimmed(expression.substr(0, at)), trimmed(expression.substr(at + kArrow.size()))};
}

/// What a layer with `before` (empty: the family's own) has under `expression`.
std::string replaced_by(const std::string& expression, const std::string& before, const EncoderConfig& config,
                        std::int64_t layer) {
  const std::optional<Arrow> arrow = split_arrow(expression);
  if (!arrow) {
    return expression;
  }
  const std::string current = before.empty() ? encoder_rules(config).attention(config, {}, layer) : before;
  const auto canonical = [&](const std::string& text) {
    return attention::parse_mechanism(text, config.directory).description;
  };
  return canonical(std::string(arrow->from)) == canonical(current) ? std::string(arrow->to) : before;
}

/// For messages, which keep a reference to it.
std::string_view how_to_have_no_positions(const EncoderRules& rules) {
  static const std::string others =
      concat("as ", in_words(families_with("position_embedding_type"), " and "), " can be");
  return rules.has_field("position_embedding_type") ? "position_embedding_type none" : std::string_view(others);
}

}  // namespace

std::string_view EncoderRules::name_of(std::string_view field) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const FieldName& named) { return named.weft == field; });
  return found == fields.end() ? field : found->hugging_face;
}

bool EncoderRules::has_field(std::string_view field) const {
  bool shared = false;
  EncoderConfig::fields([&](const auto& known) { shared = shared || known.name == field; });
  return shared ? !name_of(field).empty() : base.own.has(field);
}

bool EncoderRules::has_head(Head head) const { return is_among(heads, head); }
bool EncoderRules::has_pooler(Head head) const { return is_among(pooled_heads, head); }

std::vector<const Family*> encoder_families() {
  std::vector<const Family*> found;
  found.reserve(kEncoderTypes.size());
  for (const std::string_view name : kEncoderTypes) {
    found.push_back(find_family(name));
  }
  return found;
}

const EncoderRules& encoder_rules(std::string_view name) {
  const Family* const family = find_family(name);
  if (family == nullptr || family->encoder == nullptr) {
    fail(ErrorKind::kArgument, "model_type must be one of ", encoder_types(", "), ", found ", quote(name));
  }
  return *family->encoder;
}

NamesInFile layout_of(const EncoderConfig& config) {
  const EncoderRules& rules = encoder_rules(config);
  if (config.layout == 0) {
    return {rules.base_prefix, rules.names};
  }
  const NameLayout& other = rules.other_layouts.at(config.layout - 1);
  return {other.base_prefix, other.names, other.is_written};
}

std::vector<std::string_view> families_with(std::string_view field) {
  std::vector<std::string_view> names;
  for (const Family* family : encoder_families()) {
    if (family->encoder->has_field(field)) {
      names.push_back(family->name);
    }
  }
  return names;
}

std::string families_to_start_from() {
  std::vector<std::string_view> names;
  for (const Family* family : encoder_families()) {
    if (family->layers_of == family->name) {
      names.push_back(family->name);
    }
  }
  return in_words(names, " or ");
}

std::string_view family_of_attention(std::string_view mechanism) {
  for (const Family* family : encoder_families()) {
    const std::string own = family->encoder->attention(family->encoder->base, {}, 0);
    if (attention::parse_mechanism(own).name == mechanism) {
      return family->name;
    }
  }
  return {};
}

std::vector<NameRow> with_encoder_names(std::vector<NameRow> own) {
  std::vector<NameRow> names = {
      {"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
      {"encoder.embeddings.positions", {"~embeddings.position_embeddings.weight"}},
      {"encoder.embeddings.token_types", {"~embeddings.token_type_embeddings.weight"}},
      {"encoder.embeddings.norm", {"~embeddings.LayerNorm"}},
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layer.#.attention.self.query", "~encoder.layer.#.attention.self.key",
        "~encoder.layer.#.attention.self.value"}},
      {"encoder.layers.#.attention.output", {"~encoder.layer.#.attention.output.dense"}},
      {"encoder.layers.#.attention_norm", {"~encoder.layer.#.attention.output.LayerNorm"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.layer.#.intermediate.dense"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.layer.#.output.dense"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.layer.#.output.LayerNorm"}},
  };
  names.insert(names.end(), own.begin(), own.end());
  return names;
}

void check_heads(const EncoderConfig& config, std::string_view where) {
  require(config.hidden_size % config.num_attention_heads == 0, where, ": hidden_size ", config.hidden_size,
          " is not divisible by num_attention_heads ", config.num_attention_heads);
}

layers::EmbeddingsConfig bert_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.hidden_size;
  embeddings.maximum_length = config.max_position_embeddings;
  embeddings.positions =
      config.position_embedding_type == "absolute" ? layers::PositionKind::kLearned : layers::PositionKind::kNone;
  embeddings.norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  embeddings.dropout = config.hidden_dropout_prob;
  embeddings.token_types = encoder_rules(config).has_field("type_vocab_size") ? config.type_vocab_size : 0;
  embeddings.padding_id = config.pad_token_id;
  return embeddings;
}

std::string full_attention(const EncoderConfig&, const EncoderOptions&, std::int64_t) { return "full"; }
layers::SelfAttentionFactory plain_layer(const EncoderConfig&, const EncoderOptions&, bool) { return {}; }

StackConfig transformer_stack(const EncoderConfig& config, const EncoderOptions& options) {
  const EncoderRules& rules = encoder_rules(config);
  StackConfig stack;
  stack.embeddings = rules.embeddings(config);
  stack.no_positions = how_to_have_no_positions(rules);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    stack.blocks.push_back(block_of(config, options, layer));
  }
  return stack;
}

HeadPlan bert_head(const EncoderConfig& config) {
  const bool own_rate = config.classifier_dropout >= 0 && encoder_rules(config).has_field("classifier_dropout");
  HeadPlan plan;
  plan.width = config.hidden_size;
  plan.norm.epsilon = config.layer_norm_eps;
  plan.vocabulary_activation = config.hidden_act;
  plan.class_activation = config.hidden_act;
  plan.class_dropout = own_rate ? config.classifier_dropout : config.hidden_dropout_prob;
  plan.tag_dropout = plan.class_dropout;
  plan.choice_dropout = plan.class_dropout;
  return plan;
}

HeadPlan first_token_head(const EncoderConfig& config) {
  HeadPlan plan = bert_head(config);
  plan.classifier = Classifier::kFirstToken;
  plan.choice_dropout = config.hidden_dropout_prob;  // BERT alone drops there by its classifier's rate
  return plan;
}

Initializer normal_values(const EncoderConfig& config) { return {.range = config.initializer_range}; }

PassSettings one_pass(const EncoderConfig& config, const EncoderOptions& options) {
  PassSettings settings;
  settings.pad_like_hf = options.pad_like_hf;
  settings.padding_id = config.pad_token_id;
  settings.position_rows = config.max_position_embeddings;
  return settings;
}

Costs transformer_costs(const EncoderConfig& config) {
  const std::int64_t width = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  return {inner, {{width, 3 * width}, {width, width}, {width, inner}, {inner, width}}};
}

Costs gated_costs(const EncoderConfig& config) {
  const std::int64_t width = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  return {3 * inner, {{width, 3 * width}, {width, width}, {width, 2 * inner}, {inner, width}}};
}

std::string gated_activation(const EncoderConfig& config) {
  using Names = std::pair<std::string_view, std::string_view>;
  constexpr std::array kGated{Names{"gelu", "geglu"}, Names{"relu", "reglu"}, Names{"silu", "swiglu"},
                              Names{"swish", "swiglu"}};
  const auto* const found =
      std::find_if(kGated.begin(), kGated.end(), [&](const Names& names) { return names.first == config.hidden_act; });
  return std::string(found == kGated.end() ? "geglu_new" : found->second);  // by all the names of its approximation
}

void complete_nothing(EncoderBatch&, const EncoderConfig&, Head, const EncoderInput&, const at::Tensor&) {}
void adapt_nothing(EncoderConfig&) {}
at::Tensor no_first_value(const std::string&, const at::Tensor&, const EncoderModel&) { return {}; }
void accept_as_start(const EncoderConfig&) {}

void check_rotation(const EncoderConfig& config, std::string_view where) {
  require(config.head_dim() % 2 == 0, where, ": rotary positions turn pairs of columns: expected an even number for ",
          "each of ", config.num_attention_heads, " heads, found ", config.head_dim(), " of hidden_size ",
          config.hidden_size);
}

void refuse_start(const EncoderConfig& config, std::string_view because) {
  throw Error(ErrorKind::kUnsupported,
              concat("an encoder-decoder cannot start from a ", config.model_type, ": ", because),
              "start from a bert, roberta or big_bird");
}

void refuse_rotary_start(const EncoderConfig& config) {
  refuse_start(config, "its positions are rotary, and those of an encoder-decoder a table");
}

Blueprint blueprint(const EncoderConfig& config, Head head, const EncoderOptions& options) {
  const EncoderRules& rules = encoder_rules(config);
  EncoderConfig asked = config;
  replace_fields(asked, options.fields, names_of_families_with);
  return {rules.stack(asked, options), head_plan(asked, head), rules.passes(asked, options)};
}

HeadPlan head_plan(const EncoderConfig& config, Head head) {
  const EncoderRules& rules = encoder_rules(config);
  HeadPlan plan = rules.head(config);
  plan.has_pooler = config.with_pooler && rules.has_pooler(head);
  return plan;
}

std::int64_t padding_rows(const EncoderConfig& config) {
  const layers::EmbeddingsConfig embeddings = encoder_rules(config).embeddings(config);
  return embeddings.skip_padding ? embeddings.padding_id + 1 : 0;
}

std::string replacing_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  const bool has_list = config.attention.size() > 1;
  const std::string listed = has_list                   ? config.attention.at(static_cast<std::size_t>(layer))
                             : config.attention.empty() ? std::string()
                                                        : config.attention.front();
  const std::string before = replaced_by(listed, {}, config, layer);
  return options.attention.empty() ? before : replaced_by(options.attention, before, config, layer);
}

void list_attention(EncoderConfig& config) {
  if (config.attention.size() != 1 || !split_arrow(config.attention.front())) {
    return;
  }
  const EncoderRules& rules = encoder_rules(config);
  std::vector<std::string> layers;
  bool some = false;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string given = replacing_attention(config, {}, layer);
    some = some || !given.empty();
    layers.push_back(given.empty() ? rules.attention(config, {}, layer) : given);
  }
  require(some, "attention `", config.attention.front(), "` replaces nothing: layers have ", [&] {
    return quoted_list(std::vector<std::string>(layers.begin(), std::unique(layers.begin(), layers.end())), 4);
  });
  config.attention = std::move(layers);
}

EncoderConfig with_options(const EncoderConfig& config, const EncoderOptions& options) {
  EncoderConfig asked = config;
  if (!options.attention.empty()) {
    asked.attention = {options.attention};
    if (config.attention.size() > 1 && split_arrow(options.attention)) {
      asked.attention = config.attention;
      for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
        asked.attention[static_cast<std::size_t>(layer)] = replacing_attention(config, options, layer);
      }
    }
  }
  list_attention(asked);
  replace_fields(asked, options.fields, names_of_families_with);
  return asked;
}

bool reads_pooler(const HeadPlan& plan, Head head) {
  const bool pools_choices = plan.classifier == Classifier::kPooled || plan.classifier == Classifier::kFirstToken;
  return (head == Head::kMultipleChoice && pools_choices) ||
         (head == Head::kSequenceClassification && plan.classifier == Classifier::kPooled);
}

}  // namespace weft::models
