// SPDX-License-Identifier: Apache-2.0
// A config's field list (core/fields.h) to and from JSON. Unknown fields, wrong types and values out of range are
// errors that name the file, the field, the rule and the value found.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "weft/core/disk/model_file.h"
#include "weft/core/fields.h"

namespace weft::formats {

/// Keeps the order of an object's keys: what is written reads in the order of the field list.
using Json = nlohmann::ordered_json;

/// Parses JSON text of at most `maximum_depth` nested levels; duplicate keys, invalid UTF-8, NaN and trailing text are
/// kFormat errors that name `where` and the byte offset.
Json parse_json(std::string_view text, std::string_view where, int maximum_depth = 64);

/// Reads and parses a JSON file of at most 64 MiB; `where` in messages is its path. NaN, Infinity and -Infinity are
/// numbers there, as Python writes and reads them; read_value() takes no NaN, and no range holds an infinite one.
Json read_json(const FilePlace& file);

/// The text of `json`, indented by `indent` blanks a level, or on one line when that is negative. Strings that are not
/// UTF-8 are a kArgument error.
std::string print_json(const Json& json, int indent = -1);

/// The value, or JSON's null where there is none.
template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace weft::formats

#include "weft/formats/config_json_fields.h"  // to_json(config), update_from_json(config, json, where, ignored_keys)
