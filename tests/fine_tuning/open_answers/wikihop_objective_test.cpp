// SPDX-License-Identifier: Apache-2.0
// Rows of question, candidates and documents; scores where the marks stand; learned, measured, refused.
#include "weft/fine_tuning/open_answers/wikihop_objective.h"

#include <cmath>

#include <torch/types.h>

#include "fine_tuning/open_answers/small_questions.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;
using Ids = std::vector<std::int64_t>;

Json hop(const std::string& id, const std::string& query, const std::vector<std::string>& candidates,
         const std::string& answer, const std::vector<std::string>& documents) {
  return {{"id", id}, {"query", query}, {"candidates", candidates}, {"answer", answer}, {"supports", documents}};
}

// What said it says what follows; two documents, and more candidates in one question than in the other.
Json four_hops() {
  return {hop("h0", "said the", {"loom", "thread"}, "loom", {"the loom said it", "she well"}),
          hop("h1", "said the", {"loom", "thread"}, "thread", {"she well", "the thread said it"}),
          hop("h2", "said the", {"hello", "loom", "world"}, "world", {"the world said it", "the hello see"}),
          hop("h3", "said the", {"hello", "loom", "world"}, "hello", {"the hello said it", "the world see"})};
}

class WikiHop : public test::SmallQuestions {
 protected:
  Json hops(std::int64_t positions, std::int64_t steps, const std::string& family = "longformer") const {
    return learning("wikihop", encoder(family, positions), file("hops.json", four_hops().dump()), steps);
  }
  void refuse(const std::string& content, std::initializer_list<std::string_view> words) const {
    Json given = hops(42, 1);
    given["train_data"] = {file("bad.json", content)};
    test::expect_error(ErrorKind::kFormat, words, [&] { train(given); });
  }
};

TEST_F(WikiHop, ARowHasAMarkBeforeEachCandidateAndAllButTheDocumentsIsGlobal) {
  const Prepared prepared = prepare(make_settings(hops(42, 1), "test"));
  const Objective& objective = prepared.task->objective();
  ASSERT_EQ(objective.examples(Split::kTraining), 4);
  const TokenRow row = objective.rows(Split::kTraining).row(0);
  //                   said  the       loom         thread              the loom said it              she well
  EXPECT_EQ(row.ids, (Ids{test::kClassId, 11, 5, test::kMaskId, 6, test::kMaskId, 7, test::kSeparatorId, 5, 6, 11, 12,
                          test::kSeparatorId, 13, 17, test::kSeparatorId}));
  EXPECT_EQ(row.globals, (Ids{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(row.types[7], 0);
  EXPECT_EQ(row.types[8], 1);
  EXPECT_EQ(prepared.head.labels, (std::vector<std::string>{"candidate"}));
}

TEST_F(WikiHop, TheLossIsTheCrossEntropyOfTheMarks) {
  const Prepared prepared = prepare(make_settings(hops(42, 1), "test"));
  const Objective& objective = prepared.task->objective();
  const Ids examples = {2, 0};
  TrainingBatch batch;
  batch.examples = examples;
  models::EncoderOutput output;
  output.logits = torch::zeros({2, 24, 1});
  const auto put = [&](std::int64_t row, std::int64_t place, float value) { output.logits[row][place][0] = value; };
  put(0, 3, 1.0F);  // of example 2: hello, loom, world, which is right
  put(0, 5, -2.0F);
  put(0, 7, 0.5F);
  put(1, 3, 0.25F);  // of example 0: loom, which is right, and thread
  put(1, 5, 4.0F);
  put(1, 7, 100.0F);  // no candidate
  const double first = std::log(std::exp(1.0) + std::exp(-2.0) + std::exp(0.5)) - 0.5;
  const double second = std::log(std::exp(0.25) + std::exp(4.0)) - 0.25;
  EXPECT_NEAR(objective.loss(output, batch).item<double>(), (first + second) / 2, 1e-6);
}

TEST_F(WikiHop, LearnsAndSaysTheSameWhenItIsMeasured) {
  const training::TrainResult result = train(hops(42, 60));
  EXPECT_EQ(result.evaluation["accuracy"], 1.0) << result.evaluation.dump();
  std::vector<Json> lines;
  const Measured found = measured("wikihop", (folder_ / "run").string(), (folder_ / "hops.json").string(), lines);
  EXPECT_EQ(found.figures["accuracy"], 1.0);
  EXPECT_NEAR(found.figures["loss"].get<double>(), result.evaluation["loss"].get<double>(), 1e-5);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[2]["id"], "h2");
  EXPECT_EQ(lines[2]["answer"], "world");
  EXPECT_EQ(lines[2]["scores"].size(), 3U);
}

TEST_F(WikiHop, APatternOfAnotherFamilyBindsTheSameTokens) {
  Json given = hops(40, 3, "bert");
  given["attention"] = {"window(1) | global(input)"};
  EXPECT_GT(train(given, "sparse").loss, 0.0);
}

TEST_F(WikiHop, LongDocumentsAreReadInRowsWhoseScoresAreAveraged) {
  Json given = hops(42, 2);
  given["max_length"] = 14;
  const Prepared prepared = prepare(make_settings(given, "test"));
  const Objective& objective = prepared.task->objective();
  const EncodedRows& rows = objective.rows(Split::kHeldOut);
  ASSERT_GT(rows.size(), 4);
  EXPECT_EQ(rows.row(0).ids, (Ids{test::kClassId, 11, 5, test::kMaskId, 6, test::kMaskId, 7, test::kSeparatorId, 5, 6,
                                  11, 12, test::kSeparatorId}));
  EXPECT_EQ(rows.row(1).ids, (Ids{test::kClassId, 11, 5, test::kMaskId, 6, test::kMaskId, 7, test::kSeparatorId, 13, 17,
                                  test::kSeparatorId}));
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    count += objective.numbers(row);
  }
  std::vector<double> kept(static_cast<std::size_t>(count), 0.0);
  kept[0] = 3.0;  // the first row takes loom by 3, the second thread by 4
  kept[3] = 4.0;
  std::vector<Json> lines;
  objective.predictions(kept, [&](const Json& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["answer"], "thread");
  given["truncate"] = true;
  const Prepared cut = prepare(make_settings(given, "test"));
  EXPECT_EQ(cut.task->objective().rows(Split::kTraining).size(), 4);
  EXPECT_EQ(cut.training.cut, 4);
}

TEST_F(WikiHop, NamesWhatIsMalformed) {
  refuse(R"([{"id": "a", "query": "q", "candidates": ["x"], "answer": "y", "supports": ["d"]}])",
         {"bad.json' line 1", "question 'a'", "'y'", "candidates"});
  refuse(R"([{"id": "a", "query": "q", "candidates": [], "answer": "y", "supports": ["d"]}])",
         {"line 1", "candidates"});
  refuse(R"([{"id": "a", "query": "q", "candidates": ["y"], "answer": "y", "supports": []}])", {"line 1", "supports"});
  refuse(R"([{"id": "a", "candidates": ["y"], "answer": "y", "supports": ["d"]}])", {"line 1", "query"});
}

TEST_F(WikiHop, RefusesWhatCannotBe) {
  Json smooth = hops(42, 1);
  smooth["label_smoothing"] = 0.1;
  test::expect_error(ErrorKind::kArgument, {"label_smoothing", "wikihop"}, [&] { train(smooth); });
  Json narrow = hops(42, 1);
  narrow["max_length"] = 9;
  test::expect_error(ErrorKind::kArgument, {"question 'h0'", "2 candidates", "8 of the 9 tokens"},
                     [&] { train(narrow); });
  narrow["on_error"] = "skip";
  narrow["max_length"] = 11;  // room beside two candidates, and not beside three
  EXPECT_EQ(prepare(make_settings(narrow, "test")).training.examples, 2);
  std::vector<Json> lines;
  test::expect_error(ErrorKind::kArgument, {"token-classification"},
                     [&] { measured("wikihop", encoder("bert", 40), file("hops.json", four_hops().dump()), lines); });
}

}  // namespace
}  // namespace weft::fine_tuning
