// SPDX-License-Identifier: Apache-2.0
// DNA on both strands: what is learned of sequences that are their own other strand, scores that are means of two
// probabilities, and what has no other strand.
#include <cmath>
#include <string>
#include <vector>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/readers/genomes/reverse_complement.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

class Strands : public test::SmallTask {
 protected:
  Json flags(const std::string& table) const {
    test::write_text(folder_ / "dna.csv", table);
    Json given = fields("multilabel", "multilabel", "several.csv");
    given["train_data"] = {(folder_ / "dna.csv").string()};
    given["eval_data"] = given["train_data"];
    given["label_field"] = {"blue", "green", "red"};
    return given;
  }

  std::vector<Json> predictions_of(const std::string& text, bool both) const {
    test::write_text(folder_ / "one.jsonl", Json{{"text", text}, {"labels", {"blue"}}}.dump() + "\n");
    Measurement measurement;
    measurement.task = "multilabel";
    measurement.directory = folder_ / "run";
    measurement.data = {(folder_ / "one.jsonl").string()};
    measurement.settings.both_strands = both;
    measurement.dtype = "float32";
    std::vector<Json> lines;
    const Measured measured = measure(measurement, [&](const Json& line) { lines.push_back(line); });
    EXPECT_EQ(measured.read.examples, 1);
    return lines;
  }

  // In the order of the labels.
  std::vector<double> scores_of(const std::string& text, bool both) const {
    const std::vector<Json> lines = predictions_of(text, both);
    return lines.at(0).at("scores").get<std::vector<double>>();
  }
};

// Words that are their own other strand: "a t", "g c c g g c" and the like.
constexpr const char* kOwnStrand =
    "text,blue,green,red\n"
    "a t,1,0,0\n"
    "g c,0,1,0\n"
    "c a t g,0,1,1\n"
    "g g t t a a c c,1,0,1\n";

TEST_F(Strands, ASequenceThatIsItsOwnIsLearnedAsBefore) {
  Json given = flags(kOwnStrand);
  const training::TrainResult one = train(given, "one");
  given["both_strands"] = true;
  const training::TrainResult both = train(given, "both");
  const std::vector<double> expected = test::logged_losses(folder_ / "one");
  const std::vector<double> found = test::logged_losses(folder_ / "both");
  ASSERT_EQ(found.size(), expected.size());
  // The mean over twice the same rows; float32 in another order, which ten steps of Adam amplify.
  for (std::size_t step = 0; step < found.size(); ++step) {
    EXPECT_NEAR(found[step], expected[step], 2e-4) << "step " << step + 1;
  }
  for (const char* figure : {"loss", "roc_auc", "roc_auc_median", "f1_micro"}) {
    EXPECT_NEAR(both.evaluation[figure].get<double>(), one.evaluation[figure].get<double>(), 2e-4) << figure;
  }
}

TEST_F(Strands, AScoreIsTheMeanOfTwoProbabilities) {
  train(flags("text,blue,green,red\na a c,1,0,0\ng c c,0,1,0\nt t g a,0,1,1\n"));
  const std::string text = "a a c t g";
  const std::vector<double> first = scores_of(text, false);
  const std::vector<double> other = scores_of(readers::reverse_complement(text, "text"), false);
  const std::vector<double> both = scores_of(text, true);
  ASSERT_EQ(both.size(), 3U);
  for (std::size_t label = 0; label < both.size(); ++label) {
    EXPECT_NEAR(both[label], (first.at(label) + other.at(label)) / 2, 1e-6) << label;
    EXPECT_GT(std::abs(first[label] - other[label]), 1e-6) << label << " tells the strands apart";
  }
  const Json line = predictions_of(text, true).at(0);
  EXPECT_EQ(line["text"], text);
  EXPECT_EQ(line["line"], 1);
}

TEST_F(Strands, ALearnedExampleIsBothRows) {
  Json given = flags("text,blue,green,red\na a c,1,0,0\ng c c g,0,1,0\n");
  given["both_strands"] = true;
  const Prepared prepared = prepare(make_settings(given, "test"));
  const Objective& objective = prepared.task->objective();
  EXPECT_EQ(objective.examples(Split::kTraining), 2);
  EXPECT_EQ(objective.rows(Split::kTraining).size(), 4);
  EXPECT_EQ(objective.length(Split::kTraining, 1), 2 * objective.rows(Split::kTraining).length(2));
  EXPECT_EQ(prepared.training.examples, 2);
  EXPECT_EQ(objective.remarks().front().first, "strands");
}

TEST_F(Strands, ATextThatIsCutIsCountedOnce) {
  Json given = flags("text,blue,green,red\na a c g t a c,1,0,0\ng c c g,0,1,0\n");
  given["truncate"] = true;
  given["max_length"] = 6;
  const ReadSummary one = prepare(make_settings(given, "test")).training;
  given["both_strands"] = true;
  const ReadSummary both = prepare(make_settings(given, "test")).training;
  EXPECT_EQ(one.cut, 1);
  EXPECT_EQ(both.cut, one.cut);
  EXPECT_EQ(both.left_out, one.left_out);
}

TEST_F(Strands, RefusesWhatHasNoOther) {
  Json given = flags("text,blue,green,red\na t,1,0,0\nhello,0,1,0\n");
  given["both_strands"] = true;
  test::expect_error(ErrorKind::kFormat, {"dna.csv' line 3", "DNA", "found 'e'"}, [&] { train(given); });
  given["on_error"] = "skip";
  EXPECT_EQ(prepare(make_settings(given, "test")).training.examples, 1);
  given["pair_field"] = "blue";
  test::expect_error(ErrorKind::kArgument, {"both_strands", "pair_field"}, [&] { train(given); });
  Json other = fields("classify", "classify", "several.csv");
  other["both_strands"] = true;
  test::expect_error(ErrorKind::kArgument, {"both_strands", "multilabel", "classify"}, [&] { train(other); });
}

}  // namespace
}  // namespace weft::fine_tuning
