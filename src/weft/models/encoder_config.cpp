// SPDX-License-Identifier: Apache-2.0
// Heads by name, and the rules between the fields of an EncoderConfig.
#include "weft/models/encoder_config.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/json/hugging_face_fields.h"

namespace weft::models {
namespace {

struct HeadRow {
  Head head;
  std::string_view name;
  std::string_view suffix;  ///< of a class of `transformers`
  bool about_tokens = false;
  bool labels = false;
};

constexpr std::array kHeads{
    HeadRow{.head = Head::kNone, .name = "none", .suffix = "Model", .about_tokens = true},
    HeadRow{.head = Head::kMaskedLanguageModel, .name = "masked-lm", .suffix = "ForMaskedLM", .about_tokens = true},
    HeadRow{.head = Head::kSequenceClassification,
            .name = "sequence-classification",
            .suffix = "ForSequenceClassification",
            .labels = true},
    HeadRow{.head = Head::kTokenClassification,
            .name = "token-classification",
            .suffix = "ForTokenClassification",
            .about_tokens = true,
            .labels = true},
    HeadRow{.head = Head::kQuestionAnswering,
            .name = "question-answering",
            .suffix = "ForQuestionAnswering",
            .about_tokens = true},
    HeadRow{.head = Head::kMultipleChoice, .name = "multiple-choice", .suffix = "ForMultipleChoice"},
    HeadRow{.head = Head::kReplacedTokens, .name = "replaced-tokens", .suffix = "ForPreTraining", .about_tokens = true},
};

const HeadRow& row_of(Head head) {
  return *std::find_if(kHeads.begin(), kHeads.end(), [&](const HeadRow& row) { return row.head == head; });
}

void check_sizes(const EncoderConfig& config, std::string_view where) {
  const EncoderRules& rules = encoder_rules(config);
  const layers::EmbeddingsConfig embeddings = rules.embeddings(config);
  require(config.pad_token_id < config.vocab_size, where, ": pad_token_id ", config.pad_token_id,
          " is not below vocab_size ", config.vocab_size);
  require(config.pad_token_id >= 0 || !embeddings.skip_padding, where, ": ", config.model_type,
          " counts positions after the padding, so it needs a pad_token_id");
  require(
      config.position_embedding_type == "absolute" || rules.has_field("position_embedding_type"), where,
      ": position_embedding_type ", config.position_embedding_type, " is for ",
      [&] { return encoders_with("position_embedding_type"); }, ", found ", config.model_type);
  require(config.type_vocab_size > 0 || rules.defaults.type_vocab_size == 0, where,
          ": type_vocab_size must be from 1 to 65536, found 0");
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

// A rate, or -1 where config.json may say null.
void check_head_dropout(const EncoderConfig& config, std::string_view where) {
  const std::string_view written = encoder_rules(config).name_of("classifier_dropout");
  const double rate = config.classifier_dropout;
  const bool may_follow = may_be_null(written);
  require(
      written.empty() || rate >= 0.0 || (may_follow && rate == -1.0), where, ": classifier_dropout",
      [&] { return written == "classifier_dropout" ? std::string() : concat(" (", written, " in config.json)"); },
      " must be at least 0", may_follow ? ", or -1 for that of the sublayers" : "", ", found ", rate);
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
          Quoted(config.problem_type));
}

}  // namespace

std::string_view to_string(Head head) noexcept { return row_of(head).name; }

std::vector<std::string_view> head_names() {
  std::vector<std::string_view> names;
  names.reserve(kHeads.size());
  for (const HeadRow& row : kHeads) {
    names.push_back(row.name);
  }
  return names;
}

Head parse_head(std::string_view name) {
  for (const HeadRow& row : kHeads) {
    if (row.name == name) {
      return row.head;
    }
  }
  fail(ErrorKind::kArgument, "a head must be one of ", joined(head_names(), ", "), ", found ", quote(name));
}

bool is_about_tokens(Head head) noexcept { return row_of(head).about_tokens; }

bool has_labels(Head head) noexcept { return row_of(head).labels; }

std::optional<std::int64_t> EncoderConfig::label2id(std::string_view label) const {
  const auto found = std::find(id2label.begin(), id2label.end(), label);
  return found == id2label.end() ? std::nullopt : std::optional<std::int64_t>(found - id2label.begin());
}

std::int64_t EncoderConfig::output_size() const { return encoder_rules(*this).head(*this).width; }

bool EncoderConfig::has_position_table() const {
  return encoder_rules(*this).embeddings(*this).positions != layers::PositionKind::kNone;
}

std::int64_t EncoderConfig::maximum_length() const { return max_position_embeddings - padding_rows(*this); }

Head EncoderConfig::head(const std::string& where) const {
  if (architectures.empty()) {
    return Head::kNone;
  }
  const std::string_view prefix = encoder_rules(model_type).class_name;
  const std::string_view name = architectures.front();
  // What BERT and BigBird were trained with: the masked-LM head counts, and the one for next sentences is passed over.
  if (name.starts_with(prefix) && name.substr(prefix.size()) == "ForPreTraining") {
    return encoder_rules(model_type).pretrained_head;
  }
  const auto full = [&](const HeadRow& row) { return concat(prefix, row.suffix); };
  std::vector<HeadRow> known_heads;
  std::copy_if(kHeads.begin(), kHeads.end(), std::back_inserter(known_heads),
               [&](const HeadRow& row) { return encoder_rules(model_type).has_head(row.head); });
  for (const HeadRow& row : known_heads) {
    if (full(row) == name) {
      return row.head;
    }
  }
  const std::string known = joined(known_heads, ", ", full);
  fail(ErrorKind::kUnsupported, where, " names ", quote(name), ", but for ", model_type, " Weft has ", known);
}

std::string architecture_name(std::string_view model_type, Head head) {
  return concat(encoder_rules(model_type).class_name, row_of(head).suffix);
}

EncoderConfig base_config(std::string_view model_type) { return encoder_rules(model_type).base; }

void update_fields(EncoderConfig& config, const formats::Json& json, std::string_view where) {
  formats::Json known = formats::only_fields_of<EncoderConfig>(json);
  config.own.each([&](const FieldRule& rule, const auto&) {
    if (const auto found = json.find(std::string(rule.name)); found != json.end()) {
      known[std::string(rule.name)] = *found;
    }
  });
  formats::update_from_json(config, known, where);
}

void validate(const EncoderConfig& config, std::string_view where) {
  const EncoderRules& rules = encoder_rules(config);
  check_fields(config, where);
  check_sizes(config, where);
  check_head_dropout(config, where);
  check_label_names(config, where);
  rules.check(config, where);
}

}  // namespace weft::models
