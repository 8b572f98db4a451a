// SPDX-License-Identifier: Apache-2.0
// Windows of documents beside their file, all places of an answer, the surest span over a question's documents.
#include "weft/fine_tuning/open_answers/trivia_objective.h"

#include <cmath>

#include <torch/types.h>

#include "fine_tuning/open_answers/small_questions.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;
using Ids = std::vector<std::int64_t>;

Json asked(const std::string& id, const std::string& text, const std::string& answer, const Json& wikipedia,
           const Json& web) {
  Json one = {{"QuestionId", id},
              {"Question", text},
              {"Answer", {{"Value", answer}, {"NormalizedAliases", {answer}}}},
              {"EntityPages", Json::array()},
              {"SearchResults", Json::array()}};
  for (const Json& page : wikipedia) {
    one["EntityPages"].push_back({{"Filename", page}});
  }
  for (const Json& page : web) {
    one["SearchResults"].push_back({{"Filename", page}});
  }
  return one;
}

class Trivia : public test::SmallQuestions {
 protected:
  void SetUp() override {
    for (const auto& [name, content] :
         {std::pair{"wikipedia/a.txt", "the loom said it. Loom!"}, std::pair{"wikipedia/b.txt", "she said well"},
          std::pair{"wikipedia/c.txt", "we see thread and the thread"}, std::pair{"web/d.txt", "hello loom"}}) {
      std::filesystem::create_directories((folder_ / "evidence" / name).parent_path());
      test::write_text(folder_ / "evidence" / name, content);
    }
    std::filesystem::create_directories(folder_ / "qa");
  }
  std::string questions(const std::string& domain) const {
    const Json data = Json::array({asked("q0", "said it", "loom", {"a.txt", "b.txt"}, {"d.txt"}),
                                   asked("q1", "see", "thread", {"c.txt"}, Json::array())});
    return file("qa/trivia.json",
                Json{{"Data", data}, {"Domain", domain}, {"VerifiedEval", false}, {"Version", 1.0}}.dump());
  }
  Json trivia(const std::string& domain, std::int64_t steps) const {
    return learning("triviaqa", encoder("longformer", 42), questions(domain), steps);
  }
};

TEST_F(Trivia, WindowsWithANameOfTheAnswerAreLearned) {
  const Prepared prepared = prepare(make_settings(trivia("Wikipedia", 1), "test"));
  const Objective& objective = prepared.task->objective();
  EXPECT_EQ(objective.rows(Split::kTraining).size(), 2);  // b.txt has no loom
  EXPECT_EQ(objective.rows(Split::kHeldOut).size(), 3);
  const TokenRow row = objective.rows(Split::kTraining).row(0);
  //                      said it     the loom said it . loom !
  EXPECT_EQ(row.ids, (Ids{2, 11, 12, 3, 5, 6, 11, 12, 22, 6, 23, 3}));
  EXPECT_EQ(row.globals, (Ids{0, 1, 2}));
  EXPECT_EQ(objective.remarks().front().second, "1 of 3 have no name of the answer, and are not learned");
  const Ids examples = {0};
  TrainingBatch batch;
  batch.examples = examples;
  models::EncoderOutput output;
  output.start_logits = torch::zeros({1, 12});
  output.end_logits = torch::zeros({1, 12});
  output.start_logits[0][5] = 1.0F;
  output.start_logits[0][9] = 2.0F;
  output.end_logits[0][4] = 3.0F;
  const double both = std::exp(1.0) + std::exp(2.0);
  const double start = std::log(10.0 + both) - std::log(both);
  const double end = std::log(11.0 + std::exp(3.0)) - std::log(2.0);
  EXPECT_NEAR(objective.loss(output, batch).item<double>(), (start + end) / 2, 1e-6);
}

TEST_F(Trivia, LearnsAndTakesTheSurestSpanOfAllDocuments) {
  // Once in each: of several places a start may be the first and its end the last.
  test::write_text(folder_ / "evidence/wikipedia/a.txt", "the loom said it");
  test::write_text(folder_ / "evidence/wikipedia/b.txt", "she said loom");
  test::write_text(folder_ / "evidence/wikipedia/c.txt", "we see thread and well");
  const training::TrainResult result = train(trivia("Wikipedia", 60));
  EXPECT_EQ(result.evaluation["exact_match"], 100.0) << result.evaluation.dump();
  std::vector<Json> lines;
  const Measured found = measured("triviaqa", (folder_ / "run").string(), questions("Wikipedia"), lines);
  EXPECT_EQ(found.figures, result.evaluation);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["id"], "q0");
  EXPECT_EQ(lines[1]["answer"], "thread");
}

TEST_F(Trivia, EachDocumentOfTheWebIsScoredByItself) {
  const Prepared prepared = prepare(make_settings(trivia("Web", 1), "test"));
  const Objective& objective = prepared.task->objective();
  EXPECT_EQ(objective.rows(Split::kHeldOut).size(), 4);
  std::vector<double> kept(16, 0.0);
  std::vector<Json> lines;
  objective.predictions(kept, [&](const Json& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[2]["id"], "q0--d.txt");
  EXPECT_EQ(lines[3]["id"], "q1--c.txt");
}

TEST_F(Trivia, LongDocumentsAreReadInWindows) {
  Json given = trivia("Wikipedia", 1);
  given["max_length"] = 9;
  given["stride"] = 1;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_GT(prepared.task->objective().rows(Split::kHeldOut).size(), 4);
  EXPECT_GT(train(given).loss, 0.0);
}

TEST_F(Trivia, CutDocumentsAreCounted) {
  Json given = trivia("Wikipedia", 1);
  given["max_length"] = 9;
  given["truncate"] = true;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_EQ(prepared.task->objective().rows(Split::kHeldOut).size(), 3);
  EXPECT_EQ(prepared.held_out.cut, 2);  // of a, b and c the first and the last are longer
  EXPECT_GT(prepared.held_out.left_out, 2);
}

TEST_F(Trivia, ASkippedQuestionHasAddedNothing) {
  const std::string longer = "said it said it said it said it said it said it";
  const Json data = Json::array({asked("q0", longer, "loom", {"a.txt", "b.txt"}, Json::array()),
                                 asked("q1", "see", "thread", {"c.txt"}, Json::array())});
  Json given = trivia("Wikipedia", 1);
  given["train_data"] = {
      file("qa/two.json", Json{{"Data", data}, {"Domain", "Wikipedia"}, {"VerifiedEval", false}}.dump())};
  given["eval_data"] = given["train_data"];
  given["max_length"] = 12;
  given["on_error"] = "skip";
  const Prepared prepared = prepare(make_settings(given, "test"));
  const Objective& objective = prepared.task->objective();
  EXPECT_EQ(prepared.held_out.records.skipped, 1);
  EXPECT_EQ(prepared.held_out.examples, 1);
  EXPECT_EQ(objective.rows(Split::kHeldOut).size(), 1);
  std::vector<Json> lines;
  objective.predictions(std::vector<double>(4, 0.0), [&](const Json& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["id"], "q1");
}

TEST_F(Trivia, NamesWhatIsMissing) {
  Json given = trivia("Wikipedia", 1);
  std::filesystem::remove(folder_ / "evidence/wikipedia/c.txt");
  test::expect_error(ErrorKind::kIo, {"c.txt"}, [&] { train(given); });
  std::filesystem::rename(folder_ / "evidence", folder_ / "elsewhere");
  test::expect_error(ErrorKind::kIo, {"trivia.json", "folder 'evidence'", "found none"}, [&] { train(given); });
  given["train_data"] = {file("none.json", R"({"Data": [{"QuestionId": "q", "Question": "w", "Answer":
      {"Value": "x", "NormalizedAliases": []}, "EntityPages": [{"Filename": "a.txt"}]}], "Domain": "Web",
      "VerifiedEval": false})")};
  std::filesystem::create_directories(folder_ / "evidence");
  test::expect_error(ErrorKind::kFormat, {"none.json", "question 'q'", "NormalizedAliases"}, [&] { train(given); });
}

}  // namespace
}  // namespace weft::fine_tuning
