// SPDX-License-Identifier: Apache-2.0
// What a request for vectors is about: texts, or the ids of their tokens, as OpenAI's clients and those of
// text-embeddings-inference send them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/server/message.h"

namespace weft::requests {

/// What is known of an embedder when a request is read.
struct EmbedderFacts {
  std::string name;                  ///< of the model, as it is served
  std::int64_t vocabulary = 0;       ///< ids are below it
  std::int64_t width = 0;            ///< numbers of a vector
  std::vector<std::string> prompts;  ///< names of the directory's prompts
};

struct EmbedInputs {
  std::vector<server::Text> texts = {};  ///< with `ids`, each is a list of ids, as JSON
  bool ids = false;
  bool list = false;  ///< the request has a list of inputs
};

/// The member `key`: a string, a list of strings, a list of ids (one input) or a list of lists of ids. Errors:
/// kArgument for anything else, for nothing at all, and for an id that the vocabulary does not have.
EmbedInputs read_embed_inputs(const formats::Json& body, const std::string& key, const EmbedderFacts& facts);

/// The ids of an input that read_embed_inputs() has read.
std::vector<std::int64_t> ids_of_input(const std::string& input);

/// The schema of such a member.
formats::Json embed_inputs_schema(const EmbedderFacts& facts);

/// The member "prompt_name", which must be one of the directory's, or nothing where it is null or not there. Errors:
/// kArgument naming those that there are.
std::optional<std::string> read_prompt_name(const formats::Json& body, const EmbedderFacts& facts);

/// The name of a prompt of the directory, or null.
formats::Json prompt_name_schema(const EmbedderFacts& facts);
/// Numbers that are kept of a vector, or null.
formats::Json dimensions_schema(const EmbedderFacts& facts);

}  // namespace weft::requests
