// SPDX-License-Identifier: Apache-2.0
// Taggers beside transformers, and entity scores beside seqeval; long sentences in windows.
#include "weft/fine_tuning/objectives/tag.h"

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

class Tag : public test::SmallTask {
 protected:
  Json words() const { return fields("tag", "tag", "words.conll"); }

  Measured measured(const std::string& data, std::vector<Json>& lines, const DataSettings& settings = {}) const {
    Measurement measurement;
    measurement.task = "tag";
    measurement.directory = folder_ / "run";
    measurement.data = {data};
    measurement.settings = settings;
    measurement.dtype = "float32";
    return measure(measurement, [&](const Json& line) { lines.push_back(line); });
  }
};

TEST_F(Tag, LearnsAsTransformersDoesAndScoresAsSeqeval) {
  const training::TrainResult result = train(words());
  const Json reference = expected("tag");
  expect_losses(reference["losses"]);
  expect_figures(reference["figures"], result.evaluation);
  std::vector<Json> lines;
  const Measured found = measured((test::kFineTuning / "words.conll").string(), lines);
  EXPECT_EQ(found.figures, result.evaluation);
  ASSERT_EQ(lines.size(), reference["predicted"].size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["tags"], reference["predicted"][i]) << i;
    EXPECT_EQ(lines[i]["words"].size(), lines[i]["truth"].size());
  }
  EXPECT_EQ(found.details["types"].size(), 3U);
}

TEST_F(Tag, EveryWordCountsOnceInALongSentence) {
  train(words());
  std::string sentence;
  for (int i = 0; i < 60; ++i) {
    sentence += i % 3 == 0 ? "weaving\tO\n" : i % 3 == 1 ? "loom\tB-tool\n" : "é\tO\n";
  }
  test::write_text(folder_ / "long.conll", sentence + "\nthe\tO\n");
  std::vector<Json> lines;
  DataSettings settings;
  settings.max_length = 16;
  settings.stride = 5;
  const Measured found = measured((folder_ / "long.conll").string(), lines, settings);
  EXPECT_GT(found.rows, 5);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["tags"].size(), 60U);
  // Words of one token in the middle of their windows have their tags whatever the windows are.
  EXPECT_EQ(lines[1]["tags"].size(), 1U);
}

TEST_F(Tag, ACutSentenceIsCountedAndItsOtherWordsAreOutside) {
  std::string sentence;
  for (int i = 0; i < 60; ++i) {
    sentence += "loom\tB-tool\n";
  }
  test::write_text(folder_ / "long.conll", sentence + "\nthe\tO\n");
  Json given = words();
  given["eval_data"] = {(folder_ / "long.conll").string()};
  given["max_length"] = 16;
  given["truncate"] = true;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_EQ(prepared.task->objective().rows(Split::kHeldOut).size(), 2);
  EXPECT_EQ(prepared.held_out.cut, 1);
  EXPECT_GE(prepared.held_out.left_out, 60 - 14);
}

TEST_F(Tag, ATagThatWasNeverTrainedIsWrongAndNoError) {
  Json given = words();
  given["steps"] = 1;
  test::write_text(folder_ / "new.conll", "hello\tB-new\nworld\tO\n");
  given["eval_data"] = {(folder_ / "new.conll").string()};
  const training::TrainResult result = train(given);
  EXPECT_EQ(result.evaluation["recall"], 0.0);
  given["train_data"] = given["eval_data"];
  test::expect_error(ErrorKind::kArgument, {"'B-new'", "'B-stuff'"}, [&] { train(given, "other"); });
}

TEST_F(Tag, AModelThatFindsNoEntityIsDoubted) {
  train(words());
  test::write_text(folder_ / "same.conll", "\nthe\tB-tool\n\nthe\tO\n");
  std::vector<Json> lines;
  const Measured found = measured((folder_ / "same.conll").string(), lines);
  ASSERT_EQ(lines.size(), 2U);
  ASSERT_EQ(lines[0]["tags"], Json{"O"});
  EXPECT_TRUE(found.doubt.starts_with("the model predicts no entity at all in 2 held-out sentences, which have 1;"))
      << found.doubt;
  EXPECT_EQ(lines[1]["file"], (folder_ / "same.conll").string());
  EXPECT_EQ(lines[1]["line"], 4);
  lines.clear();
  EXPECT_EQ(measured((test::kFineTuning / "words.conll").string(), lines).doubt, "");
}

TEST_F(Tag, AHeadForNewTagsTakesThemFromTheData) {
  Json given = words();
  given["model"] = headless();
  given["steps"] = 1;
  given["class_weights"] = {"balanced"};
  train(given);
  const Json config = formats::read_json(folder_ / "run/config.json");
  EXPECT_EQ(config["id2label"],
            (Json{{"0", "B-stuff"}, {"1", "B-tool"}, {"2", "B-word"}, {"3", "I-word"}, {"4", "O"}}));
  EXPECT_EQ(config["architectures"], Json{"BertForTokenClassification"});
}

TEST_F(Tag, ReadsOnlyConll) {
  Json given = words();
  given["format"] = "csv";
  test::expect_error(ErrorKind::kArgument, {"format", "tag", "conll", "csv"}, [&] { train(given); });
  test::write_text(folder_ / "bad.conll", "hello\tperson\n");
  given["format"] = "auto";
  given["train_data"] = {(folder_ / "bad.conll").string()};
  test::expect_error(ErrorKind::kFormat, {"bad.conll' line 1"}, [&] { train(given); });
}

}  // namespace
}  // namespace weft::fine_tuning
