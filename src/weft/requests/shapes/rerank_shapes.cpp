// SPDX-License-Identifier: Apache-2.0
// Settings of Cohere's that Weft does not have may be null, as clients send them when nobody has set them.
#include "weft/requests/shapes/rerank_shapes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/core/error.h"
#include "weft/requests/request_body.h"
#include "weft/requests/shapes/tei_shapes.h"
#include "weft/requests/shapes/vector_result.h"
#include "weft/requests/task_schemas.h"

namespace weft::requests {
namespace {

using formats::Json;

constexpr std::int64_t kMostListed = std::int64_t{1} << 20;
// Which would change what the model reads of a document, or how soon.
constexpr const char* kNotHere[] = {"max_tokens_per_doc", "max_chunks_per_doc", "rank_fields", "priority"};

std::string query_of(const Json& body) {
  const std::optional<std::string> query = optional_text(body, "query");
  require(query.has_value(), "the request has no 'query'");
  require(!query->empty(), "'query' is empty, expected what the texts are to answer");
  return *query;
}

void pair_with(const std::string& query, std::vector<std::string> texts, RerankBody& read) {
  read.pairs.reserve(texts.size());
  for (std::string& text : texts) {
    read.pairs.push_back({.first = query, .second = std::move(text)});
  }
}

// A document is a text, or {"text": TEXT}.
std::vector<std::string> ranked_documents_of(const Json& body) {
  const auto found = body.find("documents");
  require(found != body.end(), "the request has no 'documents'");
  require(found->is_array() && !found->empty(), "'documents' must be a list of at least one text, found ",
          found->is_array() ? "an empty list" : found->type_name());
  std::vector<std::string> texts;
  for (const Json& one : *found) {
    const std::string where = concat("documents[", texts.size(), "]");
    const bool object = one.is_object() && one.size() == 1 && one.contains("text");
    const Json& text = object ? one["text"] : one;
    require(text.is_string(), where, " must be a string, or an object with the one member 'text'; found ",
            text.type_name());
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

RerankBody texts_body(const Json& body) {
  require_known_members(body, {"query", "texts", "truncate", "truncation_direction", "raw_scores", "return_text"});
  RerankBody read{.truncate = read_tei_options(body).truncate,
                  .raw_scores = optional_flag(body, "raw_scores").value_or(false),
                  .return_text = optional_flag(body, "return_text").value_or(false)};
  pair_with(query_of(body), text_list(body, "texts"), read);
  return read;
}

std::vector<std::size_t> best_first(std::span<const Json> results) {
  std::vector<double> scores;
  scores.reserve(results.size());
  for (const Json& result : results) {
    scores.push_back(plain_result(result).get<double>());
  }
  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

Json nullable(const char* type, const char* description) {
  return {{"type", Json::array({type, "null"})}, {"description", description}};
}

Json list_of_texts(const Json& text) {
  Json schema = server::array_schema(text);
  schema["minItems"] = 1;
  return schema;
}

Json query_schema() {
  Json query = text_schema();
  query["minLength"] = 1;
  return query;
}

Json texts_schema() {
  const Json direction = {{"enum", Json::array({"right", "Right", "left", "Left", nullptr})},
                          {"description", "which end of a text is cut; the left one is never"}};
  return server::object_schema(
      {{"query", query_schema()},
       {"texts", list_of_texts(text_schema())},
       {"truncate", nullable("boolean", "cut pairs that are too long; otherwise texts are read in windows")},
       {"truncation_direction", direction},
       {"raw_scores", nullable("boolean", "scores are logits")},
       {"return_text", nullable("boolean", "each result has its text")}},
      {"query", "texts"});
}

Json documents_schema() {
  const Json document = server::any_schema({text_schema(), server::object_schema({{"text", text_schema()}}, {"text"})});
  Json top = nullable("integer", "documents that are listed; all without it");
  top["minimum"] = 1;
  top["maximum"] = kMostListed;
  Json members = {{"model", nullable("string", "which of the models that are served; the path may have said it")},
                  {"query", query_schema()},
                  {"documents", list_of_texts(document)},
                  {"top_n", std::move(top)},
                  {"return_documents", nullable("boolean", "each result has its document")}};
  for (const char* name : kNotHere) {
    members[name] = {{"type", "null"}, {"description", "not here: texts that are too long are read in windows"}};
  }
  return server::object_schema(members, {"query", "documents"});
}

Json ranked_documents_schema() {
  const Json document = server::object_schema({{"text", text_schema()}}, {"text"});
  const Json result =
      server::object_schema({{"index", integer_schema()}, {"relevance_score", number_schema()}, {"document", document}},
                            {"index", "relevance_score"});
  const Json usage = server::object_schema({{"prompt_tokens", integer_schema()}, {"total_tokens", integer_schema()}},
                                           {"prompt_tokens", "total_tokens"});
  return server::object_schema({{"object", {{"const", "list"}}},
                                {"model", text_schema()},
                                {"results", server::array_schema(result)},
                                {"usage", usage}},
                               {"object", "model", "results", "usage"});
}

}  // namespace

RerankBody read_documents_body(const Json& body) {
  require_known_members(body, {"model", "query", "documents", "top_n", "return_documents", kNotHere[0], kNotHere[1],
                               kNotHere[2], kNotHere[3]});
  for (const char* name : kNotHere) {
    require(!body.contains(name) || body[name].is_null(), "'", name,
            "' must be null: the server reads all of every text, long ones in windows");
  }
  RerankBody read{.documents = true,
                  .return_text = optional_flag(body, "return_documents").value_or(false),
                  .top_n = optional_count(body, "top_n", 1, kMostListed)};
  (void)optional_text(body, "model");
  pair_with(query_of(body), ranked_documents_of(body), read);
  return read;
}

RerankBody read_rerank_body(const Json& body) {
  return body.contains("documents") ? read_documents_body(body) : texts_body(body);
}

Json rerank_answer(const RerankBody& body, const std::string& model, std::span<const Json> results) {
  Json list = Json::array();
  for (const std::size_t index : best_first(results)) {
    if (body.top_n && static_cast<std::int64_t>(list.size()) >= *body.top_n) {
      break;
    }
    const double score = plain_result(results[index]).get<double>();
    const std::string text = body.return_text ? body.pairs[index].second.value_or("") : std::string();
    if (body.documents) {
      list.push_back({{"index", index}, {"relevance_score", score}});
      if (body.return_text) {
        list.back()["document"] = {{"text", text}};
      }
    } else {
      list.push_back({{"index", index}, {"score", score}});
      if (body.return_text) {
        list.back()["text"] = text;
      }
    }
  }
  if (!body.documents) {
    return list;
  }
  const std::int64_t tokens = tokens_read(results);
  return {{"object", "list"},
          {"model", model},
          {"results", std::move(list)},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

server::Operation rerank_operation() {
  const Json rank = server::object_schema(
      {{"index", integer_schema()}, {"score", number_schema()}, {"text", text_schema()}}, {"index", "score"});
  return {.summary =
              "Texts in the order of how well they answer a query, as text-embeddings-inference gives them; or "
              "documents, as Cohere and Jina do.",
          .body = server::any_schema({texts_schema(), documents_schema()}),
          .answer = server::any_schema({server::array_schema(rank), ranked_documents_schema()})};
}

server::Operation documents_operation() {
  return {.summary = "Documents in the order of how well they answer a query, as Cohere and Jina give them.",
          .body = documents_schema(),
          .answer = ranked_documents_schema()};
}

}  // namespace weft::requests
