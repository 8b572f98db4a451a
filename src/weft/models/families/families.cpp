// SPDX-License-Identifier: Apache-2.0
// The table of families.
#include "weft/models/families/families.h"

#include <algorithm>
#include <array>

#include "weft/models/families/rows.h"

namespace weft::models {

std::span<const Family* const> families() {
  static const std::array table{
#define WEFT_FAMILY(identifier, name, kind, title) &identifier##_family(),
#include "weft/models/families/list.inc"
#undef WEFT_FAMILY
  };
  return table;
}

const Family* find_family(std::string_view name) {
  const auto all = families();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Family* family) { return family->name == name; });
  return found == all.end() ? nullptr : *found;
}

const Family* family_of(const formats::Json& config) {
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) {
    return nullptr;
  }
  const auto reads = [&](const Family* family) {
    return *type == family->model_type && (family->reads == nullptr || family->reads(config));
  };
  const auto all = families();
  const auto found = std::find_if(all.begin(), all.end(), reads);
  return found == all.end() ? nullptr : *found;
}

}  // namespace weft::models
