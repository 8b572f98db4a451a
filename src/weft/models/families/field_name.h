// SPDX-License-Identifier: Apache-2.0
// Fields of a config that a family calls otherwise than Weft does.
#pragma once

#include <string_view>

namespace weft::models {

/// A field of a config and what config.json calls it; empty: the family has not got it.
struct FieldName {
  std::string_view weft;
  std::string_view hugging_face;
};

/// A second name that `transformers` has for a field: `attribute_map` of its configs.
struct SecondName {
  std::string_view name;
  std::string_view first;
};

}  // namespace weft::models
