// SPDX-License-Identifier: Apache-2.0
// GPT-2 (Radford et al. 2019): a decoder with pre-norm and learned positions. Its file has matrices as [inputs,
// outputs].
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/families/causal_rules.h"
#include "weft/models/families/causal_variant.h"
#include "weft/models/families/gpt2/config_json.h"
#include "weft/models/families/name_rows.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

constexpr std::string_view kPrefix = "transformer.";

std::vector<NameRow> gpt2_names() {
  return {
      {"encoder.embeddings.tokens", {"~wte.weight"}},
      {"encoder.embeddings.positions", {"~wpe.weight"}},
      {"encoder.norm", {"~ln_f"}},
      {"encoder.head", {"lm_head"}},
      {"encoder.layers.#.attention_norm", {"~h.#.ln_1"}},
      {"encoder.layers.#.attention.qkv", {"~h.#.attn.c_attn"}},
      {"encoder.layers.#.attention.output", {"~h.#.attn.c_proj"}},
      {"encoder.layers.#.feed_forward_norm", {"~h.#.ln_2"}},
      {"encoder.layers.#.feed_forward.up", {"~h.#.mlp.c_fc"}},
      {"encoder.layers.#.feed_forward.down", {"~h.#.mlp.c_proj"}},
  };
}

/// The released file has no prefix; those of the class with a head have one.
HuggingFaceNames names_in_gpt2(const std::string& parameter) {
  static const std::vector<NameRow> rows = gpt2_names();
  const std::string name = "encoder." + parameter;
  const auto is_of = [&](std::string_view module) { return parameter.find(module) != std::string::npos; };
  const bool product = parameter.ends_with(".weight") &&
                       (is_of(".attention.qkv.") || is_of(".attention.output.") || is_of(".feed_forward."));
  return {.parts = names_by_rows(rows, name, kPrefix),
          .alternatives = names_by_rows(rows, name, ""),
          .transposed = product};
}

/// Masks that older files hold, and a copy of the tied table.
bool is_idle_in_gpt2(std::string_view name, bool tied) {
  return (name.find("h.") != std::string_view::npos &&
          (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"))) ||
         (tied && name == "lm_head.weight");
}

WeightMap gpt2_weights(const TransformerConfig& config) {
  return {.names = names_in_gpt2,
          .may_be_surplus =
              [tied = config.tie_word_embeddings](std::string_view name) { return is_idle_in_gpt2(name, tied); },
          .takes_float64 = true};
}

CausalRules gpt2_rules() {
  CausalRules rules;
  rules.from_json = gpt2_from_json;
  rules.to_json = gpt2_to_json;
  rules.weights = gpt2_weights;
  return rules;
}

void divide_scores_by_layer(const TransformerConfig&, StackConfig& stack) {
  for (layers::BlockConfig& block : stack.blocks) {
    block.score_factor = 1.0 / static_cast<double>(block.layer + 1);
  }
}

}  // namespace

const Family& gpt2_family() {
  static const CausalRules rules = gpt2_rules();
  static const Family family{.name = "gpt2", .model_type = "gpt2", .causal = &rules};
  return family;
}

const CausalVariant& scores_by_layer_variant() {
  static const CausalVariant variant{.name = "scores-by-layer", .shape = divide_scores_by_layer};
  return variant;
}

}  // namespace weft::models
