// SPDX-License-Identifier: Apache-2.0
// The embeddings of llama.cpp's server: {"content"} in, [{"index", "embedding": [[...]]}] out.
#pragma once

#include <span>

#include "weft/formats/config_json.h"
#include "weft/requests/shapes/embed_inputs.h"
#include "weft/server/operation.h"

namespace weft::requests {

/// Errors: those of read_embed_inputs(); kArgument for other members.
EmbedInputs read_content(const formats::Json& body, const EmbedderFacts& facts);

/// The answer from results of vector_result(): a list for each, with the one vector that a pooled text has.
formats::Json content_answer(std::span<const formats::Json> results);

server::Operation content_operation(const EmbedderFacts& facts);

}  // namespace weft::requests
