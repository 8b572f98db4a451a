// SPDX-License-Identifier: Apache-2.0
// Reformer (Kitaev et al. 2020) with a head over a vocabulary, as a directory of transformers. Names by the rows of the
// encoder; a local layer's three projections lie under each other in Weft's.
#include "weft/models/families/reformer/decoder.h"

#include <string>
#include <string_view>

#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/name_rows.h"
#include "weft/models/families/reformer/config_json.h"
#include "weft/models/families/reformer/like_transformers.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

/// The head's bias under the name that it has in transformers 4, too, and constants that old files hold.
bool is_surplus(std::string_view name) {
  return name == "lm_head.decoder.bias" || name.find("mask_value_float") != std::string_view::npos;
}

WeightMap reformer_weights(const TransformerConfig&) {
  return {.names = [](const std::string& parameter) -> HuggingFaceNames {
            const std::string name = parameter.starts_with("head.") ? parameter : "encoder." + parameter;
            return {.parts =
                        names_by_rows(reformer_family().encoder->names, name, "reformer.", Head::kMaskedLanguageModel)};
          },
          .may_be_surplus = is_surplus,
          .takes_float64 = true};
}

CausalRules make_causal_rules() {
  CausalRules rules;
  rules.from_json = reformer_from_json;
  rules.to_json = reformer_to_json;
  rules.weights = reformer_weights;
  rules.tokenizer_files = {{"tokenizer.model", "spiece.model"}};
  rules.scores_like_transformers = reformer_scores_like_transformers;
  rules.continues_like_transformers = reformer_continues_like_transformers;
  return rules;
}

}  // namespace

const CausalRules& reformer_causal_rules() {
  static const CausalRules rules = make_causal_rules();
  return rules;
}

}  // namespace weft::models
