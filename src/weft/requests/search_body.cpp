// SPDX-License-Identifier: Apache-2.0
// One field list is what is read and what is described.
#include "weft/requests/search_body.h"

#include <algorithm>
#include <numeric>

#include "weft/core/error.h"
#include "weft/server/schemas.h"

namespace weft::requests {

SearchBody read_search_body(const formats::Json& body) {
  SearchBody read;
  formats::update_from_json(read, body, "the request");
  require(body.contains("query"), "the request has no 'query'");
  require(!read.query.empty(), "'query' is empty, expected a question");
  return read;
}

server::Cost search_cost(const SearchBody& body, const SearchedTexts& texts) {
  constexpr std::int64_t kBytesOfMembers = 256;  // names, id, place and score
  // 100,000 passages are scanned in 7 ms of processor, in which all-MiniLM-L6-v2 reads about 200 bytes of a text.
  constexpr std::int64_t kPassagesOfByte = 500;
  const std::int64_t listed = std::min(body.top_k, std::ssize(texts.longest));
  return {.tokens = static_cast<std::int64_t>(body.query.size()) + texts.passages / kPassagesOfByte,
          .answer_bytes = std::accumulate(texts.longest.begin(), texts.longest.begin() + listed,
                                          std::int64_t{listed * kBytesOfMembers})};
}

server::Operation search_operation() {
  using formats::Json;
  const Json text = {{"type", "string"}};
  const Json passage = server::object_schema({{"id", text},
                                              {"begin", {{"type", "integer"}, {"minimum", 0}}},
                                              {"score", {{"type", "number"}}},
                                              {"title", text},
                                              {"text", text}},
                                             {"id", "begin", "score", "text"});
  Json query = server::properties_of<SearchBody>();
  query["query"].erase("default");
  query["query"]["minLength"] = 1;
  return {
      .summary = "The passages of a store that answer a question, as weft search finds them.",
      .body = server::object_schema(query, {"query"}),
      .answer = server::object_schema({{"by", text}, {"passages", server::array_schema(passage)}}, {"by", "passages"})};
}

}  // namespace weft::requests
