// SPDX-License-Identifier: Apache-2.0
// Ids stay JSON until they are computed: the queue counts the bytes of texts, and the thread of the connections reads
// no tokens.
#include "weft/requests/shapes/embed_inputs.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/requests/request_body.h"
#include "weft/server/schemas.h"

namespace weft::requests {
namespace {

using formats::Json;

server::Text ids_input(const Json& ids, const std::string& where, const EmbedderFacts& facts) {
  require(!ids.empty(), where, " is an empty list of ids; give at least one");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Json& id = ids[i];
    require(id.is_number_integer(), where, "[", i,
            "] must be an integer, the id of a token, as those before it; found ", id.type_name());
    const bool known = id.is_number_unsigned()
                           ? id.get<std::uint64_t>() < static_cast<std::uint64_t>(facts.vocabulary)
                           : id.get<std::int64_t>() >= 0 && id.get<std::int64_t>() < facts.vocabulary;
    if (!known) {
      throw Error(ErrorKind::kArgument,
                  concat(where, "[", i, "] is the id ", quote(id.dump()), "; the vocabulary of ", quote(facts.name),
                         " has the ids 0 to ", facts.vocabulary - 1),
                  "ids of another model's tokeniser mean nothing to this one: send texts (in LangChain "
                  "check_embedding_ctx_length=False)");
    }
  }
  return {.first = ids.dump()};
}

server::Text text_input(const Json& text, const std::string& where) {
  require(text.is_string(), where, " must be a string, as those before it; found ", text.type_name());
  return {.first = text.get<std::string>()};
}

}  // namespace

EmbedInputs read_embed_inputs(const Json& body, const std::string& key, const EmbedderFacts& facts) {
  const auto found = body.find(key);
  require(found != body.end(), "the request has no '", key, "'");
  EmbedInputs inputs{.list = found->is_array()};
  if (found->is_string()) {
    inputs.texts.push_back({.first = found->get<std::string>()});
    return inputs;
  }
  require(inputs.list && !found->empty(), "'", key,
          "' must be a string, a list of strings, or ids of tokens as a list of integers or of such lists; found ",
          inputs.list ? "an empty list" : found->type_name());
  const Json& first = found->front();
  if (first.is_number_integer()) {
    inputs.ids = true;
    inputs.list = false;
    inputs.texts.push_back(ids_input(*found, key, facts));
    return inputs;
  }
  require(first.is_string() || first.is_array(), key, "[0] must be a string, an integer or a list of integers, found ",
          first.type_name());
  inputs.ids = first.is_array();
  for (const Json& one : *found) {
    const std::string where = concat(key, "[", inputs.texts.size(), "]");
    require(!inputs.ids || one.is_array(), where, " must be a list of ids, as those before it; found ",
            one.type_name());
    inputs.texts.push_back(inputs.ids ? ids_input(one, where, facts) : text_input(one, where));
  }
  return inputs;
}

std::vector<std::int64_t> ids_of_input(const std::string& input) {
  return formats::parse_json(input, "ids").get<std::vector<std::int64_t>>();
}

std::optional<std::string> read_prompt_name(const Json& body, const EmbedderFacts& facts) {
  std::optional<std::string> name = optional_text(body, "prompt_name");
  if (name && std::ranges::find(facts.prompts, *name) == facts.prompts.end()) {
    constexpr std::size_t kMostNamed = 8;
    fail(ErrorKind::kArgument, "'prompt_name' is ", quote(*name), ", but the directory of ", quote(facts.name), " has ",
         facts.prompts.empty() ? "no prompts" : "the prompts " + quoted_list(facts.prompts, kMostNamed));
  }
  return name;
}

Json embed_inputs_schema(const EmbedderFacts& facts) {
  const Json text = {{"type", "string"}};
  const Json id = {{"type", "integer"}, {"minimum", 0}, {"maximum", facts.vocabulary - 1}};
  const auto list = [](const Json& items) {
    Json schema = server::array_schema(items);
    schema["minItems"] = 1;
    return schema;
  };
  return server::any_schema({text, list(text), list(id), list(list(id))});
}

Json prompt_name_schema(const EmbedderFacts& facts) {
  Json names = facts.prompts;
  names.push_back(nullptr);
  return {{"enum", names}, {"description", "which of the prompts of the model's directory is put before each text"}};
}

Json dimensions_schema(const EmbedderFacts& facts) {
  return {{"type", Json::array({"integer", "null"})},
          {"minimum", 1},
          {"maximum", facts.width},
          {"description", "numbers that are kept of each vector"}};
}

}  // namespace weft::requests
