// SPDX-License-Identifier: Apache-2.0
// The pieces that do not depend on a type.
#include "weft/server/schemas.h"

namespace weft::server {

using formats::Json;

Json string_schema(const std::string& description) { return {{"type", "string"}, {"description", description}}; }

Json array_schema(const Json& items) { return {{"type", "array"}, {"items", items}}; }

Json any_schema(const std::vector<Json>& schemas) { return {{"anyOf", schemas}}; }

Json one_or_list_schema(const Json& one) {
  Json list = array_schema(one);
  list["minItems"] = 1;
  return any_schema({one, list});
}

Json object_schema(const Json& properties, const std::vector<std::string>& required) {
  Json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) {
    schema["required"] = required;
  }
  return schema;
}

Json open_object_schema(const Json& properties, const std::vector<std::string>& required) {
  Json schema = object_schema(properties, required);
  schema.erase("additionalProperties");
  return schema;
}

}  // namespace weft::server
