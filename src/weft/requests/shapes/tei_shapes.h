// SPDX-License-Identifier: Apache-2.0
// The shapes of text-embeddings-inference beside /rerank: /embed, /embed_all, /similarity and /predict.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/requests/shapes/embed_inputs.h"
#include "weft/server/message.h"
#include "weft/server/operation.h"

namespace weft::requests {

/// What these requests may say of their texts. Text that is too long is cut only where "truncate" is true; else, and
/// where it is null, it is read in windows, or where a task has none refused.
struct TeiOptions {
  bool truncate = false;
  std::optional<std::string> prompt_name = {};
};

/// The members "truncate", "truncation_direction" and, of an embedder, "prompt_name". Errors: kArgument for another
/// type, for a text that is to be cut at its beginning, and for a prompt that is not there.
TeiOptions read_tei_options(const formats::Json& body, const EmbedderFacts& facts = {});

struct EmbedBody {
  EmbedInputs inputs;
  TeiOptions options;
  bool normalize = true;
  std::optional<std::int64_t> dimensions = {};
};
EmbedBody read_embed_body(const formats::Json& body, const EmbedderFacts& facts);
/// {"inputs"} with the options, nothing else.
EmbedBody read_embed_all_body(const formats::Json& body, const EmbedderFacts& facts);

struct SimilarityBody {
  std::vector<server::Text> texts;  ///< the source first
  TeiOptions options;
};
/// {"inputs": {"source_sentence", "sentences"}, "parameters"}.
SimilarityBody read_similarity_body(const formats::Json& body, const EmbedderFacts& facts);
/// How alike the first of some vectors is to each of the others, by what the directory names: cosine, dot, euclidean or
/// manhattan, the distances negative, so that more is always more alike.
formats::Json similarities(std::span<const formats::Json> results, const std::string& function);

struct PredictBody {
  std::vector<server::Text> texts = {};
  bool list = false;
  bool truncate = false;
  bool raw_scores = false;
};
/// {"inputs": TEXT, [TEXT, PAIR] or [[TEXT], [TEXT, PAIR], ...], "raw_scores"}.
PredictBody read_predict_body(const formats::Json& body);

server::Operation embed_operation(const EmbedderFacts& facts);
server::Operation embed_all_operation(const EmbedderFacts& facts);
server::Operation similarity_operation(const EmbedderFacts& facts);
server::Operation predict_operation();

}  // namespace weft::requests
