// SPDX-License-Identifier: Apache-2.0
// What the page of attention asks its server: heads, parts of heads and rows of a causal layer of random numbers.
#include "weft/viewer/served_view.h"

#include <gtest/gtest.h>

#include "attention/small_calls.h"
#include "support/expect_error.h"

namespace weft::viewer {
namespace {

using formats::Json;
using test::expect_error;

constexpr std::int64_t kLength = 64;

std::shared_ptr<ServedView> small_view() {
  const test::Tensors tensors = test::random_tensors({1, 2, kLength, 8});
  const attention::MassCall call{
      .query = tensors.query, .key = tensors.key, .layout = test::layout_of("causal", kLength, 2), .scale = 0.35};
  auto served = std::make_shared<ServedView>();
  served->kept = std::make_shared<tasks::KeptAttention>();
  served->kept->keep(0, "layers.0.self", call);
  served->model = "a model";
  served->cells = 16;
  served->view.source.tokens.assign(kLength, "word");
  tasks::ViewedPart part{.name = "layers.0.self", .expression = "causal", .all_heads = 2, .cell = 4};
  part.heads.resize(2);
  part.heads[1].number = 1;
  served->view.parts.push_back(std::move(part));
  return served;
}

class ServedPage : public ::testing::Test {
 protected:
  ServedPage() : served_(small_view()), router_(view_routes(served_)) {}

  server::Answer ask(const std::string& path, const Json& question) const {
    return router_.find("POST", path).handle({.method = "POST", .path = path, .body = question.dump()});
  }
  Json computed(const std::string& path, const Json& question) const {
    return std::get<server::Work>(ask(path, question)).run({});
  }

  std::shared_ptr<ServedView> served_;
  server::Router router_;
};

TEST_F(ServedPage, TheViewHasPartsWithoutPictures) {
  const server::Answer answer = router_.find("GET", "/v1/view").handle({.method = "GET", .path = "/v1/view"});
  const Json view = Json::parse(std::get<server::Reply>(answer).body);
  ASSERT_EQ(view["parts"].size(), 1U) << view;
  EXPECT_EQ(view["parts"][0]["queries"], kLength);
  EXPECT_EQ(view["parts"][0]["rows"], 16);
  EXPECT_EQ(view["parts"][0]["heads"], Json::parse(R"([{"head": 0}, {"head": 1}])"));
  EXPECT_EQ(view["cells"], 16);
}

TEST_F(ServedPage, FilesNeedNoKeyAndLoadNothingElse) {
  for (const char* path : {"/", "/viewer.js", "/viewer.css"}) {
    EXPECT_TRUE(router_.is_open("GET", path)) << path;
    const server::Answer answer = router_.find("GET", path).handle({.method = "GET", .path = path});
    const auto& reply = std::get<server::Reply>(answer);
    ASSERT_FALSE(reply.headers.empty());
    EXPECT_EQ(reply.headers[0].first, "Content-Security-Policy");
    EXPECT_EQ(reply.headers[0].second.find("default-src 'none'"), 0U) << reply.headers[0].second;
  }
}

TEST_F(ServedPage, AHeadIsDrawnOnce) {
  const Json question = {{"part", 0}, {"head", 1}};
  const server::Answer first = ask("/v1/head", question);
  EXPECT_TRUE(std::get<server::Work>(first).light);
  const Json head = std::get<server::Work>(first).run({});
  for (const char* name : {"mean", "largest", "key", "top_key", "top_weight"}) {
    EXPECT_TRUE(head.contains(name)) << name;
  }
  const server::Answer second = ask("/v1/head", {{"part", 0}, {"head", 1}, {"patient", true}});
  ASSERT_TRUE(std::holds_alternative<server::Reply>(second)) << "it was drawn again";
  EXPECT_EQ(Json::parse(std::get<server::Reply>(second).body), head);
}

TEST_F(ServedPage, TheFirstHeadCanBeDrawnBefore) {
  draw_first_head(*served_);
  EXPECT_TRUE(std::holds_alternative<server::Reply>(ask("/v1/head", {{"part", 0}, {"head", 0}, {"rows", false}})));
  const server::Answer patient = ask("/v1/head", {{"part", 0}, {"head", 1}, {"patient", true}});
  EXPECT_FALSE(std::get<server::Work>(patient).light) << "heads that nobody looks at wait for each other";
}

TEST_F(ServedPage, APartInSmallerCells) {
  const Json tile = computed("/v1/tile", {{"head", 1}, {"row", 32}, {"column", 48}, {"cell", 2}});
  EXPECT_EQ(tile["row"], 32);
  EXPECT_EQ(tile["rows"], 16);    // to the end of the text
  EXPECT_EQ(tile["columns"], 8);  // likewise
  for (const auto& [question, words] : {std::pair<Json, const char*>{{{"cell", 3}}, "'cell' must be a power of two"},
                                        {{{"cell", 8}}, "of at most 4"},
                                        {{{"row", 33}, {"cell", 2}}, "'row' must be a multiple of 2"},
                                        {{{"column", 64}}, "'column' must be a multiple of 1 below 64"}}) {
    const Json asked = question;
    expect_error(ErrorKind::kArgument, {words}, [&] { computed("/v1/tile", asked); });
  }
}

TEST_F(ServedPage, TheStrongestKeysOfARow) {
  EXPECT_EQ(computed("/v1/row", {{"row", 0}}), Json::parse(R"({"keys": [0], "weights": [1.0]})"));
  const Json row = computed("/v1/row", {{"head", 1}, {"row", 40}});
  ASSERT_EQ(row["keys"].size(), 8U) << row;
  double sum = 0;
  for (std::size_t i = 0; i < row["weights"].size(); ++i) {
    sum += row["weights"][i].get<double>();
    EXPECT_TRUE(i == 0 || row["weights"][i - 1] >= row["weights"][i]) << row;
    EXPECT_LE(row["keys"][i], 40);
  }
  EXPECT_LT(sum, 1.0);
  expect_error(ErrorKind::kArgument, {"'row' must be below 64"}, [&] { computed("/v1/row", {{"row", 64}}); });
}

TEST_F(ServedPage, MistakesAreAnsweredBeforeTheyWait) {
  expect_error(ErrorKind::kArgument, {"'part' must be below 1, found 1"}, [&] { ask("/v1/head", {{"part", 1}}); });
  expect_error(ErrorKind::kArgument, {"'head' must be below 2 for part 0"}, [&] { ask("/v1/row", {{"head", 2}}); });
  expect_error(ErrorKind::kArgument, {"part"}, [&] { ask("/v1/head", {{"part", -1}}); });
}

}  // namespace
}  // namespace weft::viewer
