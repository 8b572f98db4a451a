// SPDX-License-Identifier: Apache-2.0
// Answers beside transformers; places in windows; questions without an answer.
#include "weft/fine_tuning/objectives/answer.h"

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/metrics/answers.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

class Answer : public test::SmallTask {
 protected:
  Json questions() const { return fields("answer", "answer", "answers.json"); }

  std::vector<Json> predictions(const DataSettings& settings, Json* figures = nullptr,
                                std::string* doubt = nullptr) const {
    Measurement measurement;
    measurement.task = "answer";
    measurement.directory = folder_ / "run";
    measurement.data = {(test::kFineTuning / "answers.json").string()};
    measurement.settings = settings;
    measurement.dtype = "float32";
    std::vector<Json> lines;
    const Measured found = measure(measurement, [&](const Json& line) { lines.push_back(line); });
    if (figures != nullptr) {
      *figures = found.figures;
    }
    if (doubt != nullptr) {
      *doubt = found.doubt;
    }
    return lines;
  }
};

TEST_F(Answer, LearnsAsTransformersDoes) {
  const training::TrainResult result = train(questions());
  expect_losses(expected("answer")["losses"]);
  for (const char* name : {"exact_match", "f1", "has_answer_f1", "no_answer_f1", "best_f1", "best_threshold"}) {
    EXPECT_TRUE(result.evaluation.contains(name)) << name;
  }
}

TEST_F(Answer, CutTextsAreCounted) {
  Json given = questions();
  given["max_length"] = 12;
  given["stride"] = 1;
  const Prepared windows = prepare(make_settings(given, "test"));
  EXPECT_EQ(windows.training.cut, 0);
  given["truncate"] = true;
  const Prepared cut = prepare(make_settings(given, "test"));
  EXPECT_LT(cut.task->objective().rows(Split::kTraining).size(),
            windows.task->objective().rows(Split::kTraining).size());
  EXPECT_GT(cut.training.cut, 0);
  EXPECT_GE(cut.training.left_out, cut.training.cut);
}

TEST_F(Answer, FiguresAreThoseOfThePredictions) {
  train(questions());
  Json figures;
  const std::vector<Json> lines = predictions({}, &figures);
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[0]["id"], "q0");
  metrics::AnswerScorer scorer(metrics::AnswerRules::kSquad2);
  for (const Json& line : lines) {
    scorer.add(line["answer"].get<std::string>(), line["truth"].get<std::vector<std::string>>());
  }
  EXPECT_EQ(figures["exact_match"], scorer.report().all.percent.exact);
  EXPECT_EQ(figures["f1"], scorer.report().all.percent.f1);
  DataSettings never;
  never.null_threshold = 1e6;
  for (const Json& line : predictions(never)) {
    EXPECT_EQ(line["answer"], line["best"]);
  }
  DataSettings always;
  always.null_threshold = -1e6;
  std::string doubt;
  for (const Json& line : predictions(always, &figures, &doubt)) {
    EXPECT_EQ(line["answer"], "");
    EXPECT_FALSE(line["question"].get<std::string>().empty());
  }
  EXPECT_NE(doubt.find("\"no answer\" to each of the 12 held-out questions"), std::string::npos) << doubt;
  EXPECT_EQ(figures["no_answer_f1"], 100.0);
  EXPECT_EQ(figures["has_answer_f1"], 0.0);
}

TEST_F(Answer, WindowsOfADocumentShareItsAnswer) {
  Json given = questions();
  given["max_length"] = 13;  // of 16: the context in windows
  given["stride"] = 3;
  given["steps"] = 2;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_EQ(prepared.training.records.records, 12);
  EXPECT_GE(prepared.task->objective().rows(Split::kTraining).size(), 24);
  const training::TrainResult result = train(given);
  EXPECT_TRUE(result.evaluation["f1"].is_number());
  DataSettings settings;
  settings.max_length = 13;
  settings.stride = 3;
  settings.max_answer_length = 1;
  settings.null_threshold = 1e6;
  for (const Json& line : predictions(settings)) {
    EXPECT_EQ(line["answer"].get<std::string>().find(' '), std::string::npos);
  }
}

TEST_F(Answer, RefusesWhatItCannotMean) {
  Json given = questions();
  given["class_weights"] = {"balanced"};
  test::expect_error(ErrorKind::kArgument, {"class_weights", "answer"}, [&] { train(given); });
  given["class_weights"] = Json::array();
  test::write_text(folder_ / "bad.json", R"({"data": [{"title": "t", "paragraphs": [{"context": "the loom", "qas": [
    {"id": "1", "question": "what", "answers": [{"text": "loom", "answer_start": 3}]}]}]}]})");
  given["train_data"] = {(folder_ / "bad.json").string()};
  test::expect_error(ErrorKind::kFormat, {"bad.json"}, [&] { train(given); });
}

}  // namespace
}  // namespace weft::fine_tuning
