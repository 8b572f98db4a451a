// SPDX-License-Identifier: Apache-2.0
// Families by their names and their fields, and the plan of one.
#include "weft/models/families/encoder_rules.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/replaced_fields.h"

namespace weft::models {
namespace {

bool is_among(const std::vector<Head>& heads, Head head) {
  return std::find(heads.begin(), heads.end(), head) != heads.end();
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

std::string encoders_with(std::string_view field) { return in_words(families_with(field), " and "); }

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

Blueprint blueprint(const EncoderConfig& config, Head head, const EncoderOptions& options) {
  const EncoderRules& rules = encoder_rules(config);
  EncoderConfig asked = config;
  replace_fields(asked, options.fields, encoders_with);
  return {rules.stack(asked, options), head_plan(asked, head), rules.passes(asked, options)};
}

HeadPlan head_plan(const EncoderConfig& config, Head head) {
  const EncoderRules& rules = encoder_rules(config);
  HeadPlan plan = rules.head(config);
  plan.has_pooler = config.with_pooler && rules.has_pooler(head);
  return plan;
}

std::int64_t key_value_heads(const EncoderConfig& config) {
  const EncoderRules& rules = encoder_rules(config);
  return rules.key_value_heads == nullptr ? config.num_attention_heads : rules.key_value_heads(config);
}

std::int64_t padding_rows(const EncoderConfig& config) {
  const layers::EmbeddingsConfig embeddings = encoder_rules(config).embeddings(config);
  return embeddings.skip_padding ? embeddings.padding_id + 1 : 0;
}

bool reads_pooler(const HeadPlan& plan, Head head) {
  const bool pools_choices = plan.classifier == Classifier::kPooled || plan.classifier == Classifier::kDense;
  return (head == Head::kMultipleChoice && pools_choices) ||
         (head == Head::kSequenceClassification && plan.classifier == Classifier::kPooled);
}

}  // namespace weft::models
