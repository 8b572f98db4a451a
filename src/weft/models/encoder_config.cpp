// SPDX-License-Identifier: Apache-2.0
// Heads by name, the rules between the fields of an EncoderConfig, and the stack that it describes.
#include "weft/models/encoder_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/layers/blocks/star_block.h"
#include "weft/layers/etc/etc_companions.h"
#include "weft/models/families/family.h"
#include "weft/models/stack/stack_config.h"

namespace weft::models {
namespace {

struct HeadName {
  Head head;
  std::string_view name;
  std::string_view suffix;  ///< of a class of `transformers`
};

constexpr std::array kHeads{
    HeadName{Head::kNone, "none", "Model"},
    HeadName{Head::kMaskedLanguageModel, "masked-lm", "ForMaskedLM"},
    HeadName{Head::kSequenceClassification, "sequence-classification", "ForSequenceClassification"},
    HeadName{Head::kTokenClassification, "token-classification", "ForTokenClassification"},
    HeadName{Head::kQuestionAnswering, "question-answering", "ForQuestionAnswering"},
    HeadName{Head::kMultipleChoice, "multiple-choice", "ForMultipleChoice"},
};

const HeadName& row_of(Head head) {
  return *std::find_if(kHeads.begin(), kHeads.end(), [&](const HeadName& row) { return row.head == head; });
}

void check_sizes(const EncoderConfig& config, std::string_view where) {
  const bool heads_share_width = !config.body && !find_family(config.model_type).is_star;
  require(!heads_share_width || config.hidden_size % config.num_attention_heads == 0, where, ": hidden_size ",
          config.hidden_size, " is not divisible by num_attention_heads ", config.num_attention_heads);
  require(config.pad_token_id < config.vocab_size, where, ": pad_token_id ", config.pad_token_id,
          " is not below vocab_size ", config.vocab_size);
  require(config.pad_token_id >= 0 || !find_family(config.model_type).skip_padding, where, ": ", config.model_type,
          " counts positions after the padding, so it needs a pad_token_id");
  require(config.has_position_table() || find_family(config.model_type).may_lack_positions, where,
          ": position_embedding_type ", config.position_embedding_type, " is for bert, littlebird and etc, found ",
          config.model_type);
  const std::int64_t longest = config.maximum_length();
  require(longest > 0, where, ": max_position_embeddings ", config.max_position_embeddings,
          " leaves no position after those that padding uses (pad_token_id ", config.pad_token_id, ")");
  const auto count = static_cast<std::int64_t>(config.attention.size());
  require(count <= 1 || count == config.num_hidden_layers, where, ": attention must list one mechanism, or one for ",
          "each of ", config.num_hidden_layers, " layers, found ", count);
  for (std::size_t layer = 0; layer < config.attention.size(); ++layer) {
    require(!config.attention[layer].empty(), where, ": attention of layer ", layer,
            " is empty; name a mechanism, or leave `attention` out for the family's own in all layers");
  }
}

void check_label_names(const EncoderConfig& config, std::string_view where) {
  constexpr std::size_t kMostLabels = 1 << 20;
  const std::size_t count = config.id2label.size();
  require(count >= 1 && count <= kMostLabels, where, ": id2label must name 1 to ", kMostLabels, " labels, found ",
          count);
  constexpr std::array<std::string_view, 4> kProblems{"", "regression", "single_label_classification",
                                                      "multi_label_classification"};
  require(std::find(kProblems.begin(), kProblems.end(), config.problem_type) != kProblems.end(), where,
          ": problem_type must be one of regression, single_label_classification, multi_label_classification, found ",
          quote(config.problem_type));
}

layers::EmbeddingsConfig encoder_embeddings(const EncoderConfig& config) {
  const EncoderFamily& family = find_family(config.model_type);
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.hidden_size;
  embeddings.maximum_length = config.max_position_embeddings;
  embeddings.positions = config.has_position_table() ? layers::PositionKind::kLearned : layers::PositionKind::kNone;
  if (!family.is_star) {
    embeddings.norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  }
  embeddings.dropout = config.hidden_dropout_prob;
  embeddings.dropout_before_norm = family.dropout_before_norm;
  embeddings.token_types = family.is_star && config.type_vocab_size == 1 ? 0 : config.type_vocab_size;
  embeddings.padding_id = config.pad_token_id;
  embeddings.skip_padding = family.skip_padding;
  embeddings.position_offset = family.position_offset;
  embeddings.token_scale = config.rescale_embeddings ? std::sqrt(static_cast<double>(config.hidden_size)) : 1.0;
  return embeddings;
}

/// Of global tokens: a table, token types and a norm of their own.
layers::EmbeddingsConfig global_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = encoder_embeddings(config);
  embeddings.vocab_size = config.global_vocab_size;
  embeddings.padding_id = -1;  // what a number stands for is the caller's choice
  return embeddings;
}

layers::BlockConfig encoder_block(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  const EncoderFamily& family = find_family(config.model_type);
  const std::string given = replacing_attention(config, options, layer);
  layers::BlockConfig block;
  block.layer = layer;
  block.hidden_size = config.hidden_size;
  block.heads = config.num_attention_heads;
  block.key_value_heads = config.num_attention_heads;
  block.intermediate_size = config.intermediate_size;
  block.maximum_length = config.max_position_embeddings;
  block.attention = given.empty() ? family.attention(config, options, layer) : given;
  // What was asked for beside the config names files where it was asked.
  block.directory = options.attention.empty() ? config.directory : std::filesystem::path();
  block.self_attention = family.self_attention(config, options, !given.empty());
  block.qkv_bias = config.use_bias;
  block.activation = config.hidden_act;
  block.norm_first = false;
  block.norm.epsilon = config.layer_norm_eps;
  block.dropout = config.hidden_dropout_prob;
  block.attention_dropout = config.attention_probs_dropout_prob;
  return block;
}

layers::BlockConfig star_layer(const EncoderConfig& config) {
  layers::BlockConfig block;
  block.make = layers::star_block();
  block.attention.clear();
  block.hidden_size = config.hidden_size;
  block.heads = block.key_value_heads = config.num_attention_heads;
  block.head_size = config.attention_head_size;
  block.norm.epsilon = config.layer_norm_eps;
  return block;
}

}  // namespace

std::string replacing_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  if (!options.attention.empty() || config.attention.empty()) {
    return options.attention;
  }
  return config.attention.size() == 1 ? config.attention.front() : config.attention.at(static_cast<std::size_t>(layer));
}

TransformerConfig body_of(const EncoderConfig& config, const EncoderOptions& options) {
  TransformerConfig body = config.body.value();
  if (!options.attention.empty()) {
    body.attention = {options.attention};
    body.directory.clear();
  } else if (!config.attention.empty()) {
    body.attention = config.attention;
    body.directory = config.directory;
  }
  return body;
}

StackConfig stack_config(const EncoderConfig& config, const EncoderOptions& options) {
  if (config.body) {
    return stack_config(body_of(config, options));
  }
  StackConfig stack;
  stack.embeddings = encoder_embeddings(config);
  if (find_family(config.model_type).has_global_tokens) {
    stack.companions = layers::etc_companions(global_embeddings(config));
  }
  stack.no_positions = find_family(config.model_type).may_lack_positions ? "position_embedding_type none"
                                                                         : "as bert, littlebird and etc can be";
  if (find_family(config.model_type).is_star) {
    stack.blocks_module = "star.layers";
    stack.blocks.assign(static_cast<std::size_t>(config.num_hidden_layers), star_layer(config));
    return stack;
  }
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    stack.blocks.push_back(encoder_block(config, options, layer));
  }
  return stack;
}

std::string_view to_string(Head head) noexcept { return row_of(head).name; }

Head parse_head(std::string_view name) {
  for (const HeadName& row : kHeads) {
    if (row.name == name) {
      return row.head;
    }
  }
  const std::string known = joined(kHeads, ", ", [](const HeadName& row) { return row.name; });
  fail(ErrorKind::kArgument, "a head must be one of ", known, ", found ", quote(name));
}

std::optional<std::int64_t> EncoderConfig::label2id(std::string_view label) const {
  const auto found = std::find(id2label.begin(), id2label.end(), label);
  return found == id2label.end() ? std::nullopt : std::optional<std::int64_t>(found - id2label.begin());
}

std::int64_t EncoderConfig::maximum_length() const {
  return max_position_embeddings - padding_rows(find_family(model_type), *this);
}

Head EncoderConfig::head(const std::string& where) const {
  if (architectures.empty()) {
    return Head::kNone;
  }
  const std::string_view prefix = find_family(model_type).class_name;
  const std::string_view name = architectures.front();
  // What BERT and BigBird were trained with: the masked-LM head counts, and the one for next sentences is passed over.
  if (name.starts_with(prefix) && name.substr(prefix.size()) == "ForPreTraining") {
    return Head::kMaskedLanguageModel;
  }
  const auto full = [&](const HeadName& row) { return concat(prefix, row.suffix); };
  std::vector<HeadName> known_heads;
  std::copy_if(kHeads.begin(), kHeads.end(), std::back_inserter(known_heads),
               [&](const HeadName& row) { return find_family(model_type).has_head(row.head); });
  for (const HeadName& row : known_heads) {
    if (full(row) == name) {
      return row.head;
    }
  }
  const std::string known = joined(known_heads, ", ", full);
  fail(ErrorKind::kUnsupported, where, " names ", quote(name), ", but for ", model_type, " Weft has ", known);
}

std::string architecture_name(std::string_view model_type, Head head) {
  return concat(find_family(model_type).class_name, row_of(head).suffix);
}

EncoderConfig base_config(std::string_view model_type) { return find_family(model_type).base; }

void validate(const EncoderConfig& config, std::string_view where) {
  find_family(config.model_type);
  check_fields(config, where);
  check_sizes(config, where);
  check_label_names(config, where);
  find_family(config.model_type).check(config, where);
  if (config.body) {
    validate(body_of(config, {}), where);
  }
}

}  // namespace weft::models
