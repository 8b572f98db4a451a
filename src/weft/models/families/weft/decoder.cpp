// SPDX-License-Identifier: Apache-2.0
// Weft's own models of one stack, as `weft train` makes them: the tensors of a file are called as the parameters are.
#include "weft/models/families/causal_family.h"
#include "weft/models/families/weft/config_json.h"

namespace weft::models {
namespace {

WeightMap own_weights(const TransformerConfig&) { return {}; }

CausalFamily make_own_causal() {
  CausalFamily family;
  family.model_type = "weft";
  family.title = "a model that weft train made";
  family.from_json = own_config_from_json;
  family.to_json = own_config_to_json;
  family.weights = own_weights;
  return family;
}

}  // namespace

const CausalFamily& own_causal_family() {
  static const CausalFamily family = make_own_causal();
  return family;
}

}  // namespace weft::models
