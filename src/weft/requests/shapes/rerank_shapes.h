// SPDX-License-Identifier: Apache-2.0
// Reranking in two shapes: that of text-embeddings-inference, {"query", "texts"}, and that of Cohere and Jina,
// {"model", "query", "documents"}. A request says by its members which it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/server/message.h"
#include "weft/server/operation.h"

namespace weft::requests {

struct RerankBody {
  std::vector<server::Text> pairs = {};  ///< the query with each text
  bool documents = false;                ///< the shape of Cohere and Jina
  bool truncate = false;                 ///< cut pairs that are too long; else texts are read in windows
  bool raw_scores = false;
  bool return_text = false;
  std::optional<std::int64_t> top_n = {};  ///< texts that are listed
};

/// Errors: kArgument for a body of neither shape, and for settings that would change scores and are not here.
RerankBody read_rerank_body(const formats::Json& body);
/// The same of the second shape alone.
RerankBody read_documents_body(const formats::Json& body);

/// The answer from results of counted_result(), a score each: best first, equal ones in the order of the texts.
formats::Json rerank_answer(const RerankBody& body, const std::string& model, std::span<const formats::Json> results);

/// Of both shapes, and of the second.
server::Operation rerank_operation();
server::Operation documents_operation();

}  // namespace weft::requests
