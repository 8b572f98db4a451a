// SPDX-License-Identifier: Apache-2.0
// What an error looks like to the clients of each API whose routes a server has. The shape belongs to the route: all
// errors at a path have it, those of keys and limits too, before a handler has seen the request.
#pragma once

#include <cstdint>

#include "weft/formats/config_json.h"
#include "weft/server/message.h"

namespace weft::server {

enum class ErrorShape : std::uint8_t {
  kPlain,   ///< {"error": MESSAGE, "error_type": TYPE}: Weft's own, and that of text-embeddings-inference
  kOpenAi,  ///< {"error": {"message", "type", "param", "code"}}
  kRerank,  ///< {"message", "detail"}: Cohere's clients read the first, Jina's the second
};

/// Writes the failure of `reply` into its body in `shape`; a reply without one stays as it is. Bytes of a message that
/// are no UTF-8 become U+FFFD.
void shape_error(Reply& reply, ErrorShape shape);

/// The name of the shape's schema in a description, and the schema.
const char* error_schema_name(ErrorShape shape);
formats::Json error_schema(ErrorShape shape);
inline constexpr ErrorShape kErrorShapes[] = {ErrorShape::kPlain, ErrorShape::kOpenAi, ErrorShape::kRerank};

}  // namespace weft::server
