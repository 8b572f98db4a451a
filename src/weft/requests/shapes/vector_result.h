// SPDX-License-Identifier: Apache-2.0
// A text's vector between the model and the answer: every shape of embeddings has the same work behind it, so that
// requests of all shapes are computed together, and makes its own answer of the results.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/server/message.h"

namespace weft::requests {

/// The result of one text: its vector in bytes, float32 in little endian, and of `metadata` the tokens that were read
/// and those that were cut off.
formats::Json vector_result(std::span<const float> vector, const formats::Json& metadata);

/// The vector of such a result, as numbers and as RFC 4648 has bytes.
formats::Json vector_numbers(const formats::Json& result);
std::string vector_base64(const formats::Json& result);

/// Any result with what `metadata` says of its tokens.
formats::Json counted_result(formats::Json result, const formats::Json& metadata);
/// The result inside.
const formats::Json& plain_result(const formats::Json& counted);

/// Tokens that were read for the results.
std::int64_t tokens_read(std::span<const formats::Json> results);

/// X-Compute-Tokens, the tokens that were read, as text-embeddings-inference has it; and where texts were cut because
/// the request said so, X-Truncated-Tokens, those that were left out.
server::Fields token_fields(std::span<const formats::Json> results);

}  // namespace weft::requests
