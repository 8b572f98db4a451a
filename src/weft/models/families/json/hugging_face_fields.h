// SPDX-License-Identifier: Apache-2.0
// Values of a Hugging Face config.json that have other forms there than in Weft's configs: null, one number for all
// layers, several ids in place of one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <c10/core/ScalarType.h>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"

namespace weft::models {

/// Whether a field may be null in JSON, which is -1 here.
inline bool may_be_null(std::string_view field) {
  return field == "classifier_dropout" || field == "cls_dropout" || field == "conv_kernel_size" ||
         field.ends_with("_token_id");
}

/// One value into the field of that name. Errors: kFormat naming `where`; kArgument for a rate below 0.
template <typename Value>
void read_hugging_face_field(const formats::Json& json, const std::string& where, std::string_view name, Value& value) {
  constexpr bool kNumber = std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, double>;
  if constexpr (kNumber) {
    if (json.is_null() && may_be_null(name)) {
      value = -1;
      return;
    }
  }
  if constexpr (std::is_same_v<Value, std::vector<std::int64_t>>) {
    if (json.is_number()) {  // one window for all layers
      value.resize(1);
      formats::read_value(json, where, value.front());
      return;
    }
  }
  // Several ids may end a text; the first is the one that the tokeniser writes.
  const bool several = name == "eos_token_id" && json.is_array() && !json.empty();
  formats::read_value(several ? json.front() : json, where, value);
  if constexpr (std::is_same_v<Value, double>) {
    require(!may_be_null(name) || value >= 0.0, where, " must be at least 0, or null, found ", value);
  }
}

/// A field as it is written: null for -1 where that means none, one number for a window of all layers, of which
/// transformers takes a list only when it has one for each.
inline formats::Json hugging_face_value(std::string_view field, formats::Json value) {
  if (may_be_null(field) && value < 0) {
    return nullptr;
  }
  return field == "attention_window" && value.size() == 1 ? value.front() : value;
}

/// As config.json calls it: "float32", "bfloat16", "float16" or "float64".
inline const char* dtype_text(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return "bfloat16";
    case at::kHalf:
      return "float16";
    case at::kDouble:
      return "float64";
    default:
      return "float32";
  }
}

}  // namespace weft::models
