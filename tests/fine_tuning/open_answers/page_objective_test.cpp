// SPDX-License-Identifier: Apache-2.0
// Windows of a page without its tags, five losses, and the candidate and the span that scores come to.
#include "weft/fine_tuning/open_answers/page_objective.h"

#include <cmath>

#include <torch/types.h>

#include "fine_tuning/open_answers/small_questions.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kNumbers = 9;

Json span_of(std::int64_t start, std::int64_t end) { return {{"start_token", start}, {"end_token", end}}; }

Json page_question(std::int64_t id, const std::string& text, const Json& long_answer, const Json& short_answers,
                   const std::string& yes_no) {
  const Json annotation = {{"long_answer", long_answer}, {"short_answers", short_answers}, {"yes_no_answer", yes_no}};
  return {{"example_id", id},
          {"question_text", text},
          {"document_text", "<P> the loom said it </P> <P> she see well </P>"},
          {"long_answer_candidates",
           {{{"start_token", 0}, {"end_token", 6}, {"top_level", true}},
            {{"start_token", 6}, {"end_token", 11}, {"top_level", true}}}},
          {"annotations", Json::array({annotation, annotation})}};
}

class NaturalPages : public test::SmallQuestions {
 protected:
  std::string pages() const {
    const Json none = span_of(-1, -1);
    return file("nq.jsonl", page_question(1, "said", span_of(0, 6), Json::array({span_of(2, 3)}), "NONE").dump() +
                                "\n" + page_question(2, "see", span_of(6, 11), Json::array(), "YES").dump() + "\n" +
                                page_question(3, "world", none, Json::array(), "NONE").dump() + "\n");
  }
  Json learned(std::int64_t steps) const { return learning("nq", encoder("longformer", 42), pages(), steps); }
};

TEST_F(NaturalPages, ARowIsThePageWithoutTags) {
  const Prepared prepared = prepare(make_settings(learned(1), "test"));
  const TokenRow row = prepared.task->objective().rows(Split::kTraining).row(0);
  EXPECT_EQ(row.ids, (Ids{2, 11, 3, 5, 6, 11, 12, 13, 15, 17, 3}));
  EXPECT_EQ(row.globals, (Ids{0, 1}));
}

TEST_F(NaturalPages, TheLossIsTheSumOfTypeAndFourPlaces) {
  const Prepared prepared = prepare(make_settings(learned(1), "test"));
  const Ids examples = {0, 2};
  TrainingBatch batch;
  batch.examples = examples;
  models::EncoderOutput output;
  output.logits = torch::zeros({2, 11, kNumbers});
  output.logits[0][0][7] = 1.0F;  // a short answer, which is right
  output.logits[0][4][0] = 2.0F;  // loom
  output.logits[0][4][1] = 2.0F;
  output.logits[0][3][2] = 3.0F;  // the long answer's start
  output.logits[0][6][3] = 1.0F;  // and end
  output.logits[1][0][4] = 1.0F;  // null, which is right
  output.logits[1][0][0] = 2.0F;
  const auto right = [](double logit, double others) { return std::log(others + std::exp(logit)) - logit; };
  const double type = (right(1.0, 4) + right(1.0, 4)) / 2;
  const double first = right(2.0, 10) + right(2.0, 10) + right(3.0, 10) + right(1.0, 10);
  const double third = right(2.0, 10) + 3 * std::log(11.0);
  EXPECT_NEAR(prepared.task->objective().loss(output, batch).item<double>(), type + (first + third) / 2, 1e-5);
}

TEST_F(NaturalPages, TheBestCandidateHasTheShortAnswer) {
  const Prepared prepared = prepare(make_settings(learned(1), "test"));
  const Objective& objective = prepared.task->objective();
  tasks::WindowOutput output;
  output.logits = torch::zeros({11, kNumbers});
  output.logits[7][2] = 4.0F;  // she, where the second candidate starts
  output.logits[0][3] = 1.0F;
  output.logits[4][0] = 9.0F;  // a span of another candidate
  output.logits[8][0] = 2.0F;  // see well
  output.logits[9][1] = 2.0F;
  std::vector<double> kept;
  for (std::int64_t example = 0; example < 3; ++example) {
    output.logits[0][5] = example == 1 ? 2.0F : 0.0F;  // yes
    std::vector<double> numbers(static_cast<std::size_t>(objective.numbers(example)), 0.0);
    objective.keep(output, example, numbers);
    kept.insert(kept.end(), numbers.begin(), numbers.end());
  }
  std::vector<Json> lines;
  objective.predictions(kept, [&](const Json& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["long_answer"]["start_token"], 6);
  EXPECT_EQ(lines[0]["long_answer_score"], 3.0);
  ASSERT_EQ(lines[0]["short_answers"].size(), 1U);
  EXPECT_EQ(lines[0]["short_answers"][0]["start_token"], 8);
  EXPECT_EQ(lines[0]["short_answers"][0]["end_token"], 10);
  EXPECT_EQ(lines[0]["short_answers_score"], 4.0);
  EXPECT_EQ(lines[1]["yes_no_answer"], "YES");
  EXPECT_TRUE(lines[1]["short_answers"].empty());
}

TEST_F(NaturalPages, LearnsAndSaysTheSameWhenItIsMeasured) {
  const training::TrainResult result = train(learned(160));
  EXPECT_EQ(result.evaluation["long_f1"], 1.0) << result.evaluation.dump();
  EXPECT_EQ(result.evaluation["short_f1"], 1.0) << result.evaluation.dump();
  std::vector<Json> lines;
  EXPECT_EQ(measured("nq", (folder_ / "run").string(), pages(), lines).figures, result.evaluation);
  EXPECT_EQ(lines.size(), 3U);
}

TEST_F(NaturalPages, AWindowWithoutAWholeAnswerHasNone) {
  Json given = learned(1);
  given["max_length"] = 8;
  given["stride"] = 1;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_GT(prepared.task->objective().rows(Split::kTraining).size(), 3);
  EXPECT_GT(train(given).loss, 0.0);
}

// Two annotators must agree, and the files to learn from have one.
TEST_F(NaturalPages, QuestionsOfOneAnnotatorAreDoubted) {
  train(learned(1));
  std::vector<Json> lines;
  EXPECT_EQ(measured("nq", (folder_ / "run").string(), pages(), lines).doubt, "");
  Json alone = page_question(4, "said", span_of(0, 6), Json::array(), "NONE");
  const Json annotation = alone["annotations"][0];
  alone["annotations"] = Json::array({annotation});
  const std::string both =
      file("both.jsonl", alone.dump() + "\n" + page_question(5, "see", span_of(6, 11), Json::array(), "NO").dump());
  const std::string doubt = measured("nq", (folder_ / "run").string(), both, lines).doubt;
  EXPECT_TRUE(doubt.starts_with("1 of 2 questions have fewer than 2 annotators")) << doubt;
}

TEST_F(NaturalPages, NamesASpanBeyondThePage) {
  Json given = learned(1);
  given["train_data"] = {file("bad.jsonl", page_question(7, "see", span_of(6, 12), Json::array(), "NONE").dump())};
  test::expect_error(ErrorKind::kFormat, {"bad.jsonl' line 1", "question 7", "token 12", "has 11"},
                     [&] { train(given); });
}

}  // namespace
}  // namespace weft::fine_tuning
