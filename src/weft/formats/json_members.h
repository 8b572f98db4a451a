// SPDX-License-Identifier: Apache-2.0
// Members of JSON objects that other people wrote, each with the type it must have. What is wrong is one kFormat error
// that names the file, the field, what was expected and what was found; nlohmann's own messages name no file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"

namespace weft::formats {

/// Throws kFormat: "<where> must be <expected>, found <what `found` is, in short>".
[[noreturn]] void wrong_type(std::string_view where, std::string_view expected, const Json& found);

/// read_json() of a file that must hold an object.
Json read_json_object(const FilePlace& file);

/// The member `name` of `object`; kFormat where `object` is no object or has no such member.
const Json& member(const Json& object, std::string_view name, std::string_view where);
/// The same, which must be a list or an object.
const Json& list_member(const Json& object, std::string_view name, std::string_view where);
const Json& object_member(const Json& object, std::string_view name, std::string_view where);

/// The member `name` of `object`; null where it has none, or JSON's null.
const Json* given_member(const Json& object, std::string_view name);

/// A value for a message: as JSON on one line, quoted.
std::string quoted_json(const Json& json);

/// The member `name` as a value of any type that read_value() knows.
template <typename Value>
Value value_of(const Json& object, std::string_view name, std::string_view where) {
  Value value{};
  read_value(member(object, name, where), concat(where, ": ", name), value);
  return value;
}

/// The same, or `otherwise` where `object` has no such member.
template <typename Value>
Value value_or(const Json& object, std::string_view name, std::string_view where, Value otherwise) {
  return object.is_object() && !object.contains(std::string(name)) ? otherwise : value_of<Value>(object, name, where);
}

}  // namespace weft::formats
