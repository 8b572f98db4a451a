// SPDX-License-Identifier: Apache-2.0
// A map that names nothing goes by equal names.
#include "weft/models/weight_map.h"

namespace weft::models {

HuggingFaceNames WeightMap::names_of(const std::string& parameter) const {
  return names ? names(parameter) : HuggingFaceNames{.parts = {parameter}};
}

bool WeightMap::is_asked(std::string_view parameter) const {
  return !asked_attention.empty() && parameter.find(".mechanism.") != std::string_view::npos;
}

}  // namespace weft::models
