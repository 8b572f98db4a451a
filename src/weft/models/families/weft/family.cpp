// SPDX-License-Identifier: Apache-2.0
// Weft's own models of one stack, as `weft train` makes them: the tensors of a file are called as the parameters are.
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/weft/config_json.h"

namespace weft::models {
namespace {

WeightMap own_weights(const TransformerConfig&) { return {}; }

CausalRules own_rules() {
  CausalRules rules;
  rules.from_json = own_config_from_json;
  rules.to_json = own_config_to_json;
  rules.weights = own_weights;
  return rules;
}

}  // namespace

const Family& weft_family() {
  static const CausalRules rules = own_rules();
  static const Family family{.name = "weft", .model_type = "weft", .causal = &rules};
  return family;
}

}  // namespace weft::models
