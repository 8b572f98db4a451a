// SPDX-License-Identifier: Apache-2.0
// Looking members up, and what a value is in a message.
#include "weft/formats/json_members.h"

#include <cmath>

#include "weft/core/quote.h"

namespace weft::formats {
namespace {

// Short however long the value.
std::string describe(const Json& json) {
  if (json.is_string()) {
    return "the string " + quote(json.get_ref<const std::string&>());
  }
  if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    return std::isnan(json.get<double>()) ? "NaN" : json.get<double>() > 0 ? "Infinity" : "-Infinity";
  }
  return json.is_structured() ? concat("an ", json.type_name()) : json.dump();
}

}  // namespace

void wrong_type(std::string_view where, std::string_view expected, const Json& found) {
  fail(ErrorKind::kFormat, where, " must be ", expected, ", found ", describe(found));
}

Json read_json_object(const FilePlace& file) {
  Json json = read_json(file);
  if (!json.is_object()) {
    wrong_type(concat(quote(file.path().native(), 4096), ": the content"), "a JSON object", json);
  }
  return json;
}

const Json& member(const Json& object, std::string_view name, std::string_view where) {
  if (!object.is_object()) {
    wrong_type(concat(where, ": what holds ", name), "an object", object);
  }
  const auto found = object.find(std::string(name));
  if (found == object.end()) {
    fail(ErrorKind::kFormat, where, ": ", name, " is missing");
  }
  return *found;
}

const Json& list_member(const Json& object, std::string_view name, std::string_view where) {
  const Json& found = member(object, name, where);
  if (!found.is_array()) {
    wrong_type(concat(where, ": ", name), "a list", found);
  }
  return found;
}

const Json& object_member(const Json& object, std::string_view name, std::string_view where) {
  const Json& found = member(object, name, where);
  if (!found.is_object()) {
    wrong_type(concat(where, ": ", name), "an object", found);
  }
  return found;
}

const Json* given_member(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string quoted_json(const Json& json) { return quote(json.dump(-1, ' ', true, Json::error_handler_t::replace)); }

}  // namespace weft::formats
