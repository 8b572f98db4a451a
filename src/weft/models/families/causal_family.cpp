// SPDX-License-Identifier: Apache-2.0
// The table of families with one stack and a vocabulary above it.
#include "weft/models/families/causal_family.h"

#include <algorithm>
#include <array>

namespace weft::models {

std::span<const CausalFamily* const> causal_families() {
  static const std::array families{&own_causal_family(), &transfo_xl_family(), &reformer_causal_family()};
  return families;
}

const CausalFamily* find_causal(std::string_view model_type) {
  const auto families = causal_families();
  const auto found = std::find_if(families.begin(), families.end(),
                                  [&](const CausalFamily* family) { return family->model_type == model_type; });
  return found == families.end() ? nullptr : *found;
}

}  // namespace weft::models
