// SPDX-License-Identifier: Apache-2.0
// JSON Schemas of requests and answers, put together from few pieces; those of settings come from their field lists, so
// that they say what is checked.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"

namespace weft::server {

formats::Json string_schema(const std::string& description);
formats::Json array_schema(const formats::Json& items);
/// Any of `schemas`.
formats::Json any_schema(const std::vector<formats::Json>& schemas);
/// `one`, or a list of at least one of them.
formats::Json one_or_list_schema(const formats::Json& one);
/// An object with `properties`, of which `required` must be there, and no others.
formats::Json object_schema(const formats::Json& properties, const std::vector<std::string>& required = {});
/// The same for an object of an answer, which may have others, too.
formats::Json open_object_schema(const formats::Json& properties, const std::vector<std::string>& required);

/// The smallest and largest integer that a field holds, where `schema` has no bounds of its own.
inline void bound_integer(formats::Json& schema) {
  using Limits = std::numeric_limits<std::int64_t>;
  schema.emplace("minimum", Limits::min());
  schema.emplace("maximum", Limits::max());
}

/// The JSON type of a field's value. One string stands for a list of one, as formats::read_value() takes it.
template <typename Value>
formats::Json value_schema() {
  if constexpr (std::is_same_v<Value, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    return {{"type", "integer"}};
  } else if constexpr (std::is_same_v<Value, double>) {
    return {{"type", "number"}};
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return {{"type", "string"}};
  } else {
    formats::Json item = value_schema<typename Value::value_type>();
    if constexpr (std::is_same_v<typename Value::value_type, std::int64_t>) {
      bound_integer(item);
      return {{"type", "array"}, {"items", item}};
    } else {
      return {{"type", formats::Json::array({item["type"], "array"})}, {"items", item}};
    }
  }
}

/// A field as the property of an object: its type, rule, help and default.
template <typename Config, typename Value>
formats::Json field_schema(const Field<Config, Value>& field, const Value& otherwise) {
  formats::Json schema = value_schema<Value>();
  schema["description"] = field.help;
  if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
    const auto bound = [&](const char* name, const std::optional<double>& value) {
      if (value) {
        schema[name] = static_cast<Value>(*value);
      }
    };
    bound("minimum", field.minimum);
    bound("maximum", field.maximum);
  }
  if constexpr (std::is_same_v<Value, std::int64_t>) {
    bound_integer(schema);
  }
  if (!field.choices.empty()) {
    schema["enum"] = field.choices;
  }
  schema["default"] = otherwise;
  return schema;
}

/// The fields of `Config` as properties; defaults are those of `otherwise`.
template <typename Config>
formats::Json properties_of(const Config& otherwise = {}) {
  formats::Json properties = formats::Json::object();
  Config::fields(
      [&](const auto& field) { properties[std::string(field.name)] = field_schema(field, otherwise.*field.member); });
  return properties;
}

}  // namespace weft::server
