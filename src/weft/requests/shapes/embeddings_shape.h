// SPDX-License-Identifier: Apache-2.0
// OpenAI's embeddings: {"input", "model", "encoding_format", "dimensions", "user"} in, {"object", "data", "model",
// "usage"} out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/requests/shapes/embed_inputs.h"
#include "weft/server/operation.h"

namespace weft::requests {

struct EmbeddingsRequest {
  EmbedInputs inputs;
  bool base64 = false;
  std::optional<std::int64_t> dimensions;
  std::optional<std::string> prompt_name;  ///< no member of OpenAI's
};

/// Errors: HttpError 400 that names the member as "param". The member "model" is the caller's business.
EmbeddingsRequest read_embeddings_request(const formats::Json& body, const EmbedderFacts& facts);

/// The answer from results of vector_result().
formats::Json embeddings_answer(const std::string& model, std::span<const formats::Json> results, bool base64);

server::Operation embeddings_operation(const EmbedderFacts& facts);

}  // namespace weft::requests
