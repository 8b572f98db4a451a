// SPDX-License-Identifier: Apache-2.0
// The body {"inputs", "parameters"} as a JSON Schema, and the smallest schemas.
#pragma once

#include "weft/server/operation.h"
#include "weft/server/schemas.h"

namespace weft::requests {

inline formats::Json text_schema() { return {{"type", "string"}}; }
inline formats::Json number_schema() { return {{"type", "number"}}; }
inline formats::Json integer_schema() { return {{"type", "integer"}}; }

inline formats::Json stream_schema() {
  return {{"type", "boolean"}, {"description", "send the answer as events, piece by piece"}, {"default", false}};
}

/// {"inputs": one or a list of `input`, "parameters": the fields of `Parameters`}.
template <typename Parameters>
formats::Json inputs_schema(const formats::Json& input, const Parameters& otherwise = {}) {
  return server::object_schema({{"inputs", server::one_or_list_schema(input)},
                                {"parameters", server::object_schema(server::properties_of(otherwise))}},
                               {"inputs"});
}

}  // namespace weft::requests
