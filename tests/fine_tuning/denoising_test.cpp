// SPDX-License-Identifier: Apache-2.0
// Plain texts as pairs: pieces that lose nothing, noise that is a function of its place, whole runs that resume to the
// bit.
#include "weft/fine_tuning/denoising/denoiser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "data/text_files.h"
#include "fine_tuning/pair_files.h"
#include "support/expect_error.h"
#include "training/fake_task.h"
#include "weft/checkpoint/open_model.h"
#include "weft/core/disk/model_file.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/pairs/pair_measurement.h"
#include "weft/fine_tuning/pairs/pair_run.h"
#include "weft/formats/config_json.h"
#include "weft/formats/config_json_fields.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

class Denoising : public test::PairFiles {
 protected:
  void SetUp() override {
    PairFiles::SetUp();
    std::string text;
    const std::vector<std::string> nouns = {"loom", "thread", "weaver", "river", "bridge"};
    for (std::uint64_t line = 0; line < 60; ++line) {
      const auto noun = [&](std::uint64_t place) {
        return nouns[random_below(random_bits(line, place), nouns.size())];
      };
      text += concat("The ", noun(0), " crosses the ", noun(1), " of the ", noun(2), ".", line % 5 == 4 ? "\n\n" : " ");
    }
    test::write_text(folder_ / "text.txt", text);
  }

  Json noisy(const std::string& noise) const {
    Json given = fields();
    for (const char* name : {"train_source", "train_target", "eval_source", "eval_target"}) {
      given.erase(name);
    }
    const Json files = {(folder_ / "text.txt").string()};
    given.update({{"task", "denoise"},
                  {"noise", noise},
                  {"train_text", files},
                  {"eval_text", files},
                  {"vocabulary_size", 400},
                  {"max_source_length", 48},
                  {"max_target_length", 48},
                  {"batch_tokens", 128}});
    return given;
  }
};

TEST_F(Denoising, EveryNoiseLearnsAndResumesToTheBit) {
  for (const char* noise : {"gap-sentences", "permute-infill", "spans"}) {
    const Json given = noisy(noise);
    const std::string name = noise;
    const training::TrainResult whole = train(given, name);
    train(given, name + "-again");
    leave_at_checkpoint(name + "-again", 4);
    const auto resumed =
        resume_pairs(folder_ / (name + "-again"), prepare_pairs_resumption(folder_ / (name + "-again"), {}));
    EXPECT_EQ(test::logged_losses(folder_ / (name + "-again")), test::logged_losses(folder_ / name)) << noise;
    EXPECT_EQ(resumed.evaluation, whole.evaluation);
    EXPECT_EQ(read_file(folder_ / (name + "-again") / "model.safetensors"),
              read_file(folder_ / name / "model.safetensors"));
  }
}

TEST_F(Denoising, ShownRowsAreAFunctionOfTheirPlaceAndFit) {
  for (const char* noise :
       {"gap-sentences", "permute-infill", "infill", "mask", "delete", "permute", "rotate", "spans"}) {
    const PreparedPairs prepared = prepare_pairs(noisy(noise), {}, {}, "test");
    PairTask& task = *prepared.task;
    std::set<std::vector<std::int64_t>> sources;
    std::size_t rows = 0;
    for (std::int64_t step = 0; step < 12; ++step) {
      const std::vector<PairRow> shown = task.shown(step, 0);
      const std::vector<PairRow> again = task.shown(step, 0);
      for (std::size_t i = 0; i < shown.size(); ++i) {
        EXPECT_EQ(shown[i].source, again[i].source);
        EXPECT_EQ(shown[i].target, again[i].target);
        EXPECT_LE(shown[i].source.size(), 48U) << noise;
        EXPECT_LE(shown[i].target.size(), 48U) << noise;
        EXPECT_GE(shown[i].source.size(), 2U) << noise;
        EXPECT_GE(shown[i].target.size(), 2U) << noise;
        sources.insert(shown[i].source);
        ++rows;
      }
    }
    // Rows come again in another epoch, with other noise. (Scores of sentences do not change.)
    EXPECT_TRUE(std::string(noise) == "gap-sentences" || sources.size() > rows * 8 / 10)
        << noise << ' ' << sources.size();
  }
}

// Pieces are stored without their special tokens, which are shown with them.
TEST_F(Denoising, WhatIsShownOfABatchFitsIntoItsBudget) {
  for (const char* noise : {"mask", "gap-sentences", "rotate", "permute-infill", "spans"}) {
    Json given = noisy(noise);
    given["batch_tokens"] = 200;
    const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
    std::size_t fullest = 0;
    for (std::int64_t step = 0; step < 12; ++step) {
      const std::vector<PairRow> shown = prepared.task->shown(step, 0);
      std::size_t longest = 0;
      for (const PairRow& row : shown) {
        longest = std::max({longest, row.source.size(), row.target.size()});
      }
      EXPECT_LE(longest * shown.size(), 200U) << noise << " step " << step;
      fullest = std::max(fullest, longest * shown.size());
    }
    EXPECT_GT(fullest, 100U) << noise;
  }
}

// Of a piece whose spans are hidden less is shown than it has.
TEST_F(Denoising, APieceMayBeLongerThanABatch) {
  Json given = noisy("spans");
  given["batch_tokens"] = 48;
  std::string text;  // one sentence, which is cut into pieces of as many tokens as fit
  for (int word = 0; word < 200; ++word) {
    text += concat(word == 0 ? "" : " ", word % 3 == 0 ? "loom" : "river", word);
  }
  test::write_text(folder_ / "long.txt", text);
  given["train_text"] = {(folder_ / "long.txt").string()};
  const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
  PairTask& task = *prepared.task;
  EXPECT_GT(task.data().training.source_length(0), 48);
  for (std::int64_t step = 0; step < 12; ++step) {
    for (const PairRow& row : task.shown(step, 0)) {
      EXPECT_LE(row.source.size(), 48U);
      EXPECT_LE(row.target.size(), 48U);
    }
  }
}

TEST_F(Denoising, PiecesAreTheText) {
  const PreparedPairs prepared = prepare_pairs(noisy("permute"), {}, {}, "test");
  // Held-out rows are permuted sources with the text as their target.
  std::string text;
  for (const std::string& reference : prepared.task->data().references) {
    text += reference + " ";
  }
  std::string expected = read_file(folder_ / "text.txt");
  const auto without_blanks = [](std::string all) {
    std::erase_if(all, [](char letter) { return letter == ' ' || letter == '\n'; });
    return all;
  };
  EXPECT_EQ(without_blanks(text), without_blanks(expected));
}

TEST_F(Denoising, HeldOutTextsAreTheSameForAllSeeds) {
  Json given = noisy("permute-infill");
  const PreparedPairs first = prepare_pairs(given, {}, {}, "test");
  given["seed"] = 7;
  const PreparedPairs second = prepare_pairs(given, {}, {}, "test");
  EXPECT_EQ(first.task->data().held_out.fingerprint(), second.task->data().held_out.fingerprint());
  EXPECT_EQ(first.task->data().training.fingerprint(), second.task->data().training.fingerprint());
  bool differs = false;
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto a = first.task->shown(step, 0);
    const auto b = second.task->shown(step, 0);
    differs = differs || a.front().source != b.front().source;
  }
  EXPECT_TRUE(differs);
}

TEST_F(Denoising, IsMeasuredAsItWasTrained) {
  const training::TrainResult result = train(noisy("spans"));
  const checkpoint::OpenedModel opened = checkpoint::open_model(folder_ / "run");
  PairMeasurement measurement;
  Json stands = formats::read_json(ModelFile(folder_ / "run", "training.json"));
  formats::update_from_json(measurement.pairs, formats::only_fields_of<PairConfig>(stands), "test");
  measurement.pairs.train_text.clear();
  const MeasuredPairs measured = measure_pairs(opened, measurement);
  EXPECT_NEAR(measured.figures.at("loss").get<double>(), result.evaluation.at("loss").get<double>(), 1e-5);
}

TEST_F(Denoising, RefusesWhatMakesNoPairs) {
  const auto refuse = [&](const Json& given, ErrorKind kind, std::initializer_list<std::string_view> words) {
    test::expect_error(kind, words, [&] { prepare_pairs(given, {}, {}, "test"); });
  };
  Json given = noisy("permute-infill");
  given["train_source"] = given["train_text"];
  refuse(given, ErrorKind::kArgument, {"train_source is for translate"});
  given = noisy("permute-infill");
  given["target_field"] = "summary";
  refuse(given, ErrorKind::kArgument, {"target_field is for translate"});
  given = noisy("permute-infill");
  given.erase("train_text");
  refuse(given, ErrorKind::kArgument, {"no text to learn from"});
  given = noisy("permute-infill");
  given["bpe_dropout"] = 0.1;
  refuse(given, ErrorKind::kArgument, {"bpe_dropout"});
  given = noisy("words");
  refuse(given, ErrorKind::kArgument, {"noise", "words", "gap-sentences"});
  given = noisy("spans");
  given["vocabulary_size"] = 300;
  refuse(given, ErrorKind::kArgument, {"vocabulary_size", "361", "300"});
  given = noisy("gap-sentences");
  test::write_text(folder_ / "one.txt", "One sentence alone.");
  given["train_text"] = {(folder_ / "one.txt").string()};
  refuse(given, ErrorKind::kFormat, {"no text in which something can be hidden"});
  test::write_text(folder_ / "one.txt", " \n");
  refuse(given, ErrorKind::kFormat, {"one.txt", "the text is empty"});
  test::write_text(folder_ / "one.txt", "caf\xE9");
  refuse(given, ErrorKind::kFormat, {"one.txt", "UTF-8"});
}

TEST_F(Denoising, ReadsRecordsOfTables) {
  Json given = noisy("permute-infill");
  given.erase("train_text");
  test::write_text(folder_ / "texts.jsonl",
                   "{\"document\": \"The loom stands. The thread runs.\"}\n{\"document\": \"A river.\"}\n");
  given["train_data"] = {(folder_ / "texts.jsonl").string()};
  EXPECT_EQ(prepare_pairs(given, {}, {}, "test").training.examples, 2);
  test::write_text(folder_ / "texts.csv", "title,body\na,The loom stands.\nb,The thread runs.\n");
  given["train_data"] = {(folder_ / "texts.csv").string()};
  given["source_field"] = "body";
  EXPECT_EQ(prepare_pairs(given, {}, {}, "test").training.examples, 2);
  given["source_field"] = "text";
  test::expect_error(ErrorKind::kArgument, {"text"}, [&] { prepare_pairs(given, {}, {}, "test"); });
}

}  // namespace
}  // namespace weft::fine_tuning
