// SPDX-License-Identifier: Apache-2.0
// Bodies in the shapes of other servers, as their clients send them, and the answers that these clients read.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/core/error.h"
#include "weft/requests/request_body.h"
#include "weft/requests/search_body.h"
#include "weft/requests/shapes/embeddings_shape.h"
#include "weft/requests/shapes/rerank_shapes.h"
#include "weft/requests/shapes/tei_shapes.h"
#include "weft/requests/shapes/vector_result.h"
#include "weft/server/http_error.h"

namespace weft::requests {
namespace {

using formats::Json;

const EmbedderFacts kFacts{.name = "tiny", .vocabulary = 100, .width = 4, .prompts = {"query"}};

std::string error_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const std::exception& error) {
    return server::error_reply(error).status == 400 ? error.what() : "another status";
  }
  return "nothing";
}

TEST(EmbedInputs, FourForms) {
  const auto read = [](const char* input) {
    return read_embed_inputs({{"input", Json::parse(input)}}, "input", kFacts);
  };
  EXPECT_EQ(read(R"("a")").texts.size(), 1U);
  EXPECT_FALSE(read(R"("a")").list);
  EXPECT_EQ(read(R"(["a", "b"])").texts[1].first, "b");
  const EmbedInputs one = read("[3, 99, 0]");
  EXPECT_TRUE(one.ids);
  ASSERT_EQ(one.texts.size(), 1U);
  EXPECT_EQ(ids_of_input(one.texts[0].first), (std::vector<std::int64_t>{3, 99, 0}));
  const EmbedInputs two = read("[[3], [4, 5]]");
  EXPECT_TRUE(two.ids);
  EXPECT_EQ(ids_of_input(two.texts[1].first), (std::vector<std::int64_t>{4, 5}));
}

TEST(EmbedInputs, WhatIsNone) {
  for (const auto& [input, part] :
       std::vector<std::pair<const char*, const char*>>{{"[]", "empty list"},
                                                        {"[[]]", "input[0] is an empty list"},
                                                        {"null", "found null"},
                                                        {"7", "found number"},
                                                        {"[1.5]", "input[0]"},
                                                        {"[true]", "input[0]"},
                                                        {R"(["a", 1])", "input[1]"},
                                                        {R"([1, "a"])", "input[1]"},
                                                        {R"([[1], "a"])", "input[1]"},
                                                        {R"([[1], [2.5]])", "input[1][0]"},
                                                        {R"([{"a": 1}])", "input[0]"},
                                                        {"[100]", "ids 0 to 99"},
                                                        {"[-1]", "'-1'"},
                                                        {"[[1], [18446744073709551615]]", "input[1][0]"}}) {
    EXPECT_NE(error_of([&] { read_embed_inputs({{"input", Json::parse(input)}}, "input", kFacts); }).find(part),
              std::string::npos)
        << input;
  }
}

TEST(Embeddings, MembersOfOpenAisClients) {
  const EmbeddingsRequest plain = read_embeddings_request({{"input", "a"}, {"model", "tiny"}}, kFacts);
  EXPECT_FALSE(plain.base64);
  EXPECT_FALSE(plain.dimensions.has_value());
  const EmbeddingsRequest nulls = read_embeddings_request(
      {{"input", "a"}, {"encoding_format", nullptr}, {"dimensions", nullptr}, {"user", nullptr}}, kFacts);
  EXPECT_FALSE(nulls.base64);
  const EmbeddingsRequest full = read_embeddings_request(
      {{"input", "a"}, {"model", "tiny"}, {"encoding_format", "base64"}, {"dimensions", 2}, {"user", "me"}}, kFacts);
  EXPECT_TRUE(full.base64);
  EXPECT_EQ(full.dimensions, 2);
  for (const auto& [body, param] :
       std::vector<std::pair<Json, const char*>>{{{{"model", "tiny"}}, "input"},
                                                 {{{"input", "a"}, {"encoding_format", "hex"}}, "encoding_format"},
                                                 {{{"input", "a"}, {"dimensions", 5}}, "dimensions"},
                                                 {{{"input", "a"}, {"dimensions", 0}}, "dimensions"},
                                                 {{{"input", "a"}, {"user", 1}}, "user"}}) {
    try {
      read_embeddings_request(body, kFacts);
      ADD_FAILURE() << body;
    } catch (const server::HttpError& error) {
      EXPECT_EQ(error.status(), 400);
      EXPECT_EQ(error.failure().param, param);
    }
  }
  EXPECT_THROW(read_embeddings_request({{"input", "a"}, {"stream", true}}, kFacts), Error);
}

TEST(Embeddings, NumbersAndBase64AreTheSameFloats) {
  const std::vector<float> vector = {0.1F, -1.5F, 3e-38F, 0.0F};
  const std::vector<Json> results = {vector_result(vector, {{"tokens", 7}, {"truncated", 2}}),
                                     vector_result(std::vector<float>{1.0F}, {{"tokens", 3}})};
  const Json answer = embeddings_answer("tiny", results, false);
  EXPECT_EQ(answer["object"], "list");
  EXPECT_EQ(answer["model"], "tiny");
  EXPECT_EQ(answer["usage"].dump(), R"({"prompt_tokens":8,"total_tokens":8})");
  EXPECT_EQ(answer["data"][1]["index"], 1);
  EXPECT_EQ(answer["data"][0]["object"], "embedding");
  for (std::size_t i = 0; i < vector.size(); ++i) {
    EXPECT_EQ(answer["data"][0]["embedding"][i].get<float>(), vector[i]);
  }
  // 1.0 is 00 00 80 3f in little endian.
  EXPECT_EQ(embeddings_answer("tiny", results, true)["data"][1]["embedding"], "AACAPw==");
  const server::Fields fields = token_fields(results);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0], (std::pair<std::string, std::string>("X-Compute-Tokens", "8")));
  EXPECT_EQ(fields[1], (std::pair<std::string, std::string>("X-Truncated-Tokens", "2")));
}

TEST(Tei, TextsAreCutOnlyWhereARequestSaysSo) {
  EXPECT_FALSE(read_tei_options({{"truncate", nullptr}}).truncate);
  EXPECT_TRUE(read_tei_options({{"truncate", true}, {"truncation_direction", "Right"}}).truncate);
  EXPECT_FALSE(read_tei_options({{"truncation_direction", "left"}}).truncate) << "nothing is cut, at neither end";
  EXPECT_NE(
      error_of([] { read_tei_options({{"truncate", true}, {"truncation_direction", "Left"}}); }).find("cuts the end"),
      std::string::npos);
  EXPECT_TRUE(read_embed_body({{"inputs", "a"}}, kFacts).normalize);
  EXPECT_EQ(read_embed_body({{"inputs", "a"}, {"dimensions", 3}, {"normalize", false}}, kFacts).dimensions, 3);
  EXPECT_THROW(read_embed_all_body({{"inputs", "a"}, {"normalize", true}}, kFacts), Error);
}

// (1, 2, 2) and (2, 0, 1): product 4, lengths 3 and sqrt(5), differences -1, 2, 1.
TEST(Tei, SimilaritiesAreThoseOfTheirEquations) {
  const std::vector<Json> results = {vector_result(std::vector<float>{1, 2, 2}, {}),
                                     vector_result(std::vector<float>{2, 0, 1}, {}),
                                     vector_result(std::vector<float>{0, 0, 0}, {})};
  const auto first = [&](const char* function) { return similarities(results, function)[0].get<double>(); };
  EXPECT_NEAR(first("cosine"), 4 / (3 * std::sqrt(5.0)), 1e-12);
  EXPECT_NEAR(first("dot"), 4, 1e-12);
  EXPECT_NEAR(first("euclidean"), -std::sqrt(6.0), 1e-12);
  EXPECT_NEAR(first("manhattan"), -4, 1e-12);
  EXPECT_EQ(similarities(results, "cosine")[1].get<double>(), 0) << "a vector of zeros is like no other";
  const SimilarityBody body = read_similarity_body(
      {{"inputs", {{"source_sentence", "a"}, {"sentences", {"b", "c"}}}}, {"parameters", {{"truncate", true}}}},
      kFacts);
  EXPECT_EQ(body.texts.size(), 3U);
  EXPECT_TRUE(body.options.truncate);
  EXPECT_THROW(read_similarity_body({{"inputs", {{"source_sentence", "a"}, {"sentences", Json::array()}}}}, kFacts),
               Error);
  EXPECT_THROW(read_similarity_body({{"inputs", "a"}}, kFacts), Error);
}

TEST(Tei, PredictTellsAPairFromABatch) {
  const auto read = [](const char* inputs) { return read_predict_body({{"inputs", Json::parse(inputs)}}); };
  EXPECT_EQ(read(R"("a")").texts.size(), 1U);
  EXPECT_FALSE(read(R"(["a"])").list);
  const PredictBody pair = read(R"(["a", "b"])");
  EXPECT_FALSE(pair.list);
  EXPECT_EQ(pair.texts[0].second, "b");
  const PredictBody batch = read(R"([["a"], ["b", "c"]])");
  EXPECT_TRUE(batch.list);
  EXPECT_FALSE(batch.texts[0].second.has_value());
  EXPECT_EQ(batch.texts[1].second, "c");
  for (const char* wrong :
       {"[]", "[[]]", R"(["a", "b", "c"])", R"([["a"], "b"])", R"(["a", ["b"]])", "[1]", "{}", "null"}) {
    EXPECT_THROW(read(wrong), Error) << wrong;
  }
}

std::vector<Json> scores(const std::vector<double>& values) {
  std::vector<Json> results;
  results.reserve(values.size());
  for (const double value : values) {
    results.push_back(counted_result(value, {{"tokens", 5}}));
  }
  return results;
}

TEST(Search, AQuestionIsThereAndSaysSomething) {
  EXPECT_EQ(read_search_body({{"query", "q"}}).query, "q");
  EXPECT_EQ(error_of([] { read_search_body(Json::object()); }), "the request has no 'query'");
  EXPECT_EQ(error_of([] { read_search_body({{"query", ""}}); }), "'query' is empty, expected a question");
}

TEST(Parameters, NullIsNone) {
  EXPECT_EQ(parameters_of({{"inputs", "a"}}), Json::object());
  EXPECT_EQ(parameters_of({{"parameters", nullptr}}), Json::object());
  EXPECT_EQ(parameters_of({{"parameters", {{"top_k", 2}}}})["top_k"], 2);
  EXPECT_EQ(error_of([] { parameters_of({{"parameters", "a"}}); }), "'parameters' must be an object, found string");
}

TEST(Rerank, BothShapesAreSorted) {
  const RerankBody texts =
      read_rerank_body({{"query", "q"}, {"texts", {"a", "b", "c"}}, {"return_text", true}, {"raw_scores", true}});
  EXPECT_TRUE(texts.raw_scores);
  EXPECT_EQ(texts.pairs[1].first, "q");
  EXPECT_EQ(texts.pairs[1].second, "b");
  EXPECT_EQ(
      rerank_answer(texts, "m", scores({0.25, 0.5, 0.25})).dump(),
      R"([{"index":1,"score":0.5,"text":"b"},{"index":0,"score":0.25,"text":"a"},{"index":2,"score":0.25,"text":"c"}])");
  const RerankBody documents = read_rerank_body({{"model", "m"},
                                                 {"query", "q"},
                                                 {"documents", {"a", {{"text", "b"}}}},
                                                 {"top_n", 1},
                                                 {"return_documents", true}});
  EXPECT_EQ(rerank_answer(documents, "m", scores({0.25, 0.5})).dump(),
            R"({"object":"list","model":"m","results":[{"index":1,"relevance_score":0.5,"document":{"text":"b"}}],)"
            R"("usage":{"prompt_tokens":10,"total_tokens":10}})");
  const RerankBody bare = read_documents_body({{"query", "q"}, {"documents", {"a"}}, {"max_tokens_per_doc", nullptr}});
  EXPECT_EQ(rerank_answer(bare, "m", scores({1}))["results"][0].dump(), R"({"index":0,"relevance_score":1.0})");
}

TEST(Rerank, WhatIsNeitherShape) {
  for (const char* body :
       {R"({"query": "q"})", R"({"texts": ["a"]})", R"({"query": "q", "texts": []})", R"({"query": "q", "texts": [1]})",
        R"({"query": "q", "texts": ["a"], "documents": ["b"]})", R"({"query": "q", "documents": [{"text": 1}]})",
        R"({"query": "q", "documents": [{"text": "a", "title": "b"}]})",
        R"({"query": "q", "documents": ["a"], "top_n": 0})",
        R"({"query": "q", "documents": ["a"], "max_tokens_per_doc": 9})", R"({"query": null, "texts": ["a"]})",
        R"({"query": "", "texts": ["a"]})", R"({"query": "", "documents": ["a"]})"}) {
    EXPECT_THROW(read_rerank_body(Json::parse(body)), Error) << body;
  }
  EXPECT_THROW(read_documents_body({{"query", "q"}, {"texts", {"a"}}}), Error);
}

}  // namespace
}  // namespace weft::requests
