// SPDX-License-Identifier: Apache-2.0
// Rows of paragraphs with a mark behind each sentence; the loss by hand; learned, measured, refused.
#include "weft/fine_tuning/open_answers/hotpot_objective.h"

#include <cmath>
#include <limits>

#include <torch/types.h>

#include "fine_tuning/open_answers/small_questions.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kWidth = 6;

Json question(const std::string& id, const std::string& text, const std::string& answer, const Json& facts) {
  const Json loom = {"loom", {"the loom said it", " she well"}};
  const Json thread = {"thread", {"we see thread", " hello world"}};
  return {{"_id", id},
          {"question", text},
          {"answer", answer},
          {"supporting_facts", facts},
          {"context", Json::array({loom, thread})}};
}

Json three_questions() {
  return {question("q0", "said", "it", Json::array({{"loom", 0}})),
          question("q1", "hello", "yes", Json::array({{"thread", 1}, {"loom", 1}})),
          question("q2", "see", "no", Json::array({{"thread", 0}}))};
}

double binary(double logit, bool truth) { return std::log1p(std::exp(truth ? -logit : logit)); }

class Hotpot : public test::SmallQuestions {
 protected:
  Json hops(std::int64_t steps, const std::string& family = "longformer") const {
    return learning("hotpotqa", encoder(family, 42), file("hotpot.json", three_questions().dump()), steps);
  }
  void refuse(const Json& one, std::initializer_list<std::string_view> words) const {
    Json given = hops(1);
    given["train_data"] = {file("bad.json", Json::array({one}).dump())};
    test::expect_error(ErrorKind::kFormat, words, [&] { train(given); });
  }
};

TEST_F(Hotpot, ARowHasAMarkBehindEachSentence) {
  const Prepared prepared = prepare(make_settings(hops(1), "test"));
  const TokenRow row = prepared.task->objective().rows(Split::kTraining).row(0);
  EXPECT_EQ(row.ids, (Ids{test::kClassId,
                          11,
                          test::kSeparatorId,
                          6,
                          5,
                          6,
                          11,
                          12,
                          test::kMaskId,
                          13,
                          17,
                          test::kMaskId,  // loom: ...
                          test::kSeparatorId,
                          7,
                          14,
                          15,
                          7,
                          test::kMaskId,
                          8,
                          9,
                          test::kMaskId}));
  EXPECT_EQ(row.globals, (Ids{0, 1, 2, 8, 11, 12, 17, 20}));
  EXPECT_EQ(prepared.head.labels.size(), static_cast<std::size_t>(kWidth));
}

TEST_F(Hotpot, TheLossIsTheSumOfTypePlacesAndFacts) {
  const Prepared prepared = prepare(make_settings(hops(1), "test"));
  const Ids examples = {0};
  TrainingBatch batch;
  batch.examples = examples;
  models::EncoderOutput output;
  output.logits = torch::zeros({1, 21, kWidth});
  const auto put = [&](std::int64_t place, std::int64_t column, float value) {
    output.logits[0][place][column] = value;
  };
  put(0, 3, 1.0F);   // span, which is right
  put(0, 4, -1.0F);  // yes
  put(7, 0, 2.0F);   // it, the answer
  put(7, 1, 3.0F);
  put(5, 1, 1.0F);
  put(8, 2, 0.5F);  // the sentence that supports it
  put(11, 2, 0.25F);
  put(17, 2, -1.0F);
  const double type = std::log(std::exp(1.0) + std::exp(-1.0) + 1.0) - 1.0;
  const double start = std::log(20.0 + std::exp(2.0)) - 2.0;
  const double end = std::log(19.0 + std::exp(3.0) + std::exp(1.0)) - 3.0;
  const double facts = (binary(0.5, true) + binary(0.25, false) + binary(-1.0, false) + binary(0.0, false)) / 4;
  EXPECT_NEAR(prepared.task->objective().loss(output, batch).item<double>(), type + start + end + facts, 1e-5);
}

TEST_F(Hotpot, NumbersBecomeAnswerAndFacts) {
  const Prepared prepared = prepare(make_settings(hops(1), "test"));
  const Objective& objective = prepared.task->objective();
  tasks::WindowOutput output;
  output.logits = torch::zeros({21, kWidth});
  output.logits[0][3] = 1.0F;
  output.logits[18][0] = 2.0F;  // hello
  output.logits[19][1] = 2.0F;  // world
  output.logits[20][2] = 1.0F;
  std::vector<double> kept;
  for (std::int64_t example = 0; example < 3; ++example) {
    std::vector<double> numbers(static_cast<std::size_t>(objective.numbers(example)), 0.0);
    objective.keep(output, example, numbers);
    kept.insert(kept.end(), numbers.begin(), numbers.end());
  }
  std::vector<Json> lines;
  objective.predictions(kept, [&](const Json& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["answer"], "hello world");
  EXPECT_EQ(lines[0]["sp"], Json::array({{"thread", 1}}));
  const Json figures = objective.figures(kept);
  EXPECT_NEAR(figures["sp_f1"].get<double>(), 2.0 / 3.0 / 3.0, 1e-12);  // of q1 one of two facts
  EXPECT_NEAR(figures["type_accuracy"].get<double>(), 1.0 / 3.0, 1e-12);
  output.logits[0][3] = std::numeric_limits<float>::quiet_NaN();
  std::vector<double> numbers(static_cast<std::size_t>(objective.numbers(0)), 0.0);
  test::expect_error(ErrorKind::kNumeric, {"finite"}, [&] { objective.keep(output, 0, numbers); });
}

TEST_F(Hotpot, LearnsAndSaysTheSameWhenItIsMeasured) {
  const training::TrainResult result = train(hops(160));
  EXPECT_EQ(result.evaluation["joint_em"], 1.0) << result.evaluation.dump();
  std::vector<Json> lines;
  const Measured found = measured("hotpotqa", (folder_ / "run").string(), (folder_ / "hotpot.json").string(), lines);
  EXPECT_EQ(found.figures, result.evaluation);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1]["answer"], "yes");
  EXPECT_EQ(lines[1]["sp"].size(), 2U);
}

TEST_F(Hotpot, LongParagraphsAreRefusedOrCutBehindASentence) {
  Json given = hops(1);
  given["max_length"] = 12;
  test::expect_error(ErrorKind::kArgument, {"hotpot.json' question 'q0'", "21 tokens", "at most 12"},
                     [&] { train(given); });
  given["truncate"] = true;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_EQ(prepared.training.cut, 3);
  EXPECT_EQ(prepared.training.left_out, 27);
  EXPECT_EQ(prepared.task->objective().rows(Split::kTraining).length(0), 12);
  EXPECT_GT(train(given).loss, 0.0);
}

TEST_F(Hotpot, AQuestionThatTakesAllTokensIsRefusedWhateverIsCut) {
  Json given = hops(1);
  given["train_data"] = {
      file("long.json",
           Json::array({three_questions()[0], question("long", "said it said it said it said it said it said it", "it",
                                                       Json::array({{"loom", 0}}))})
               .dump())};
  given["max_length"] = 12;
  given["truncate"] = true;
  test::expect_error(ErrorKind::kArgument, {"long.json' question 'long'", "the question takes 13 of the 12 tokens"},
                     [&] { train(given); });
  given["on_error"] = "skip";
  EXPECT_EQ(prepare(make_settings(given, "test")).training.examples, 1);
}

TEST_F(Hotpot, NamesWhatIsMalformed) {
  Json stranger = three_questions()[0];
  stranger["supporting_facts"] = Json::array({{"loom", 2}});
  refuse(stranger, {"bad.json' line 1", "question 'q0'", "sentence 2 of 'loom'", "has 2"});
  stranger["supporting_facts"] = Json::array({{"world", 0}});
  refuse(stranger, {"question 'q0'", "'world'", "found none"});
  Json without = three_questions()[1];
  without.erase("context");
  refuse(without, {"question 'q1'", "'context'"});
  Json unanswered = three_questions()[1];
  unanswered.erase("answer");
  refuse(unanswered, {"question 'q1'", "'answer'"});
}

TEST_F(Hotpot, AHeadOfOtherLabelsIsNotMeasured) {
  models::EncoderConfig config = small_shape("bert");
  config.id2label = {"O", "B-X"};
  checkpoint::save_encoder(folder_ / "tags", models::make_encoder(config, models::Head::kTokenClassification, 1),
                           std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers/bert");
  std::vector<Json> lines;
  test::expect_error(ErrorKind::kArgument, {"tags", "hotpotqa", "'start'", "'O'"}, [&] {
    measured("hotpotqa", (folder_ / "tags").string(), file("hotpot.json", three_questions().dump()), lines);
  });
}

}  // namespace
}  // namespace weft::fine_tuning
