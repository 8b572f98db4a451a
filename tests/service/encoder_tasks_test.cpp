// SPDX-License-Identifier: Apache-2.0
// Requests of a classifier as its handler answers them, without a server: work, results, groups and mistakes.
#include <gtest/gtest.h>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/server/http_error.h"
#include "weft/service/served_model.h"

namespace weft::service {
namespace {

using formats::Json;
using test::expect_error;

class ServedClassifier : public ::testing::Test {
 protected:
  static models::EncoderConfig config() {
    models::EncoderConfig config = test::small_encoder_config("bert");
    config.vocab_size = 96;  // no fewer than the tokeniser's
    config.max_position_embeddings = 16;
    config.id2label = {"bad", "good"};
    return config;
  }
  ServedClassifier() {
    const std::filesystem::path directory = folder_ / "labels";
    const models::EncoderModel model = test::small_encoder(config(), models::Head::kSequenceClassification);
    checkpoint::save_encoder(directory, model, std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers/bert");
    model_ = open_served_model("labels", checkpoint::open_model(directory), {});
  }

  server::Work work(const Json& body) const {
    return std::get<server::Work>(model_.tasks.at("classify").handle({.method = "POST", .body = body.dump()}));
  }
  static Json answer(const server::Work& work) { return work.finish(work.compute(work.texts)); }

  test::TemporaryDirectory folder_;
  ServedModel model_;
};

TEST_F(ServedClassifier, AnswersAsItWasAsked) {
  EXPECT_EQ(model_.kind, "encoder");
  EXPECT_TRUE(model_.attention.has_value());
  const Json one = answer(work({{"inputs", "the loom"}}));
  ASSERT_EQ(one.size(), 2U) << one;
  EXPECT_NEAR(one[0]["score"].get<double>() + one[1]["score"].get<double>(), 1.0, 1e-6);
  EXPECT_GE(one[0]["score"].get<double>(), one[1]["score"].get<double>());
  const Json list = answer(work({{"inputs", {"a man", "the loom"}}}));
  ASSERT_EQ(list.size(), 2U) << list;
  EXPECT_EQ(list[1][0]["label"], one[0]["label"]);
  EXPECT_NEAR(list[1][0]["score"].get<double>(), one[0]["score"].get<double>(), 1e-5);
  EXPECT_EQ(answer(work({{"inputs", "the loom"}, {"parameters", {{"top_k", 1}}}})).size(), 1U);
}

TEST_F(ServedClassifier, OnlyEqualQuestionsAreComputedTogether) {
  const server::Work plain = work({{"inputs", "the loom"}});
  EXPECT_EQ(plain.group, work({{"inputs", "a man"}}).group);
  EXPECT_NE(plain.group, work({{"inputs", "a man"}, {"parameters", {{"top_k", 1}}}}).group);
  EXPECT_GE(plain.cost.tokens, 8);  // no fewer than the text has bytes
}

TEST_F(ServedClassifier, RefusesWhatIsNoQuestion) {
  expect_error(ErrorKind::kArgument, {"'inputs'"}, [&] { work(Json::object()); });
  expect_error(ErrorKind::kArgument, {"'txet'"}, [&] { work({{"inputs", "a"}, {"txet", 1}}); });
  expect_error(ErrorKind::kArgument, {"empty list"}, [&] { work({{"inputs", Json::array()}}); });
  expect_error(ErrorKind::kArgument, {"top_k"}, [&] { work({{"inputs", "a"}, {"parameters", {{"top_k", -1}}}}); });
}

TEST_F(ServedClassifier, ALongTextIsCutOnRequestOnly) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "the loom ";
  }
  const server::Work long_work = work({{"inputs", text}});
  try {
    long_work.compute(long_work.texts);
    FAIL() << "a long text was taken";
  } catch (const server::HttpError& error) {
    EXPECT_EQ(error.status(), server::status::kTooLarge);
    EXPECT_NE(std::string(error.what()).find("'truncation' in 'parameters' cuts the text there"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(answer(work({{"inputs", text}, {"parameters", {{"truncation", true}}}})).size(), 2U);
}

}  // namespace
}  // namespace weft::service
