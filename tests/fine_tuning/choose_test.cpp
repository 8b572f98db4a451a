// SPDX-License-Identifier: Apache-2.0
// Multiple choice beside transformers; every example with the same number of choices.
#include "weft/fine_tuning/objectives/choose.h"

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

class Choose : public test::SmallTask {
 protected:
  Json puzzles() const { return fields("choose", "choose", "choices.jsonl"); }
  void refuse(const std::string& lines, std::initializer_list<std::string_view> words) const {
    test::write_text(folder_ / "bad.jsonl", lines);
    Json given = puzzles();
    given["train_data"] = {(folder_ / "bad.jsonl").string()};
    test::expect_error(ErrorKind::kFormat, words, [&] { train(given); });
  }
};

TEST_F(Choose, LearnsAsTransformersDoes) {
  const training::TrainResult result = train(puzzles());
  const Json reference = expected("choose");
  expect_losses(reference["losses"]);
  expect_figures(reference["figures"], result.evaluation);
}

TEST_F(Choose, AModelThatTakesOnePlaceAlwaysIsDoubted) {
  train(puzzles());
  const auto line = [](int label) {
    return R"({"id": "p", "prompt": "the loom", "choices": ["hello", "world", "she"], "label": )" +
           std::to_string(label) + "}\n";
  };
  test::write_text(folder_ / "same.jsonl", line(0) + line(1) + line(2));
  Measurement measurement;
  measurement.task = "choose";
  measurement.directory = folder_ / "run";
  measurement.data = {(folder_ / "same.jsonl").string()};
  std::vector<Json> lines;
  const Measured measured = measure(measurement, [&](const Json& one) { lines.push_back(one); });
  EXPECT_NE(measured.doubt.find("of each of the 3 held-out questions, of which 2 have another right one"),
            std::string::npos)
      << measured.doubt;
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[2]["line"], 3);
  EXPECT_EQ(lines[2]["id"], "p");
  EXPECT_EQ(lines[2]["prompt"], "the loom");
  EXPECT_TRUE(lines[2]["index"].is_number_integer());
}

TEST_F(Choose, ABatchHoldsWholeQuestions) {
  Json given = puzzles();
  given["batch_tokens"] = 90;
  const Prepared prepared = prepare(make_settings(given, "test"));
  const Objective& objective = prepared.task->objective();
  EXPECT_EQ(objective.examples(Split::kTraining), 12);
  EXPECT_EQ(objective.rows(Split::kTraining).size(), 36);
  const std::vector<std::int64_t> two = {3, 0};
  const models::EncoderInput input =
      objective.input(objective.token_rows(Split::kTraining, two), {.id = 0, .token_types = true});
  EXPECT_EQ(input.input_ids.size(0), 2);
  EXPECT_EQ(input.input_ids.size(1), 3);
  EXPECT_EQ(input.token_type_ids.sizes(), input.input_ids.sizes());
  given["label_smoothing"] = 0.1;
  EXPECT_GT(train(given).loss, 0.0);
}

TEST_F(Choose, NamesWhatIsMalformed) {
  refuse("{\"prompt\": \"a\", \"choices\": [\"b\"], \"label\": 0}\n", {"bad.jsonl' line 1", "choices"});
  refuse("{\"prompt\": \"a\", \"choices\": [\"b\", 3], \"label\": 0}\n", {"line 1", "string", "number"});
  refuse("{\"prompt\": \"a\", \"choices\": [\"b\", \"c\"], \"label\": 2}\n", {"line 1", "label", "0 to 1"});
  refuse("{\"choices\": [\"b\", \"c\"], \"label\": 1}\n", {"line 1", "prompt"});
  refuse(
      "{\"prompt\": \"a\", \"choices\": [\"b\", \"c\"], \"label\": 1}\n"
      "{\"prompt\": \"a\", \"choices\": [\"b\", \"c\", \"d\"], \"label\": 1}\n",
      {"line 2", "3 choices", "have 2"});
}

}  // namespace
}  // namespace weft::fine_tuning
