// SPDX-License-Identifier: Apache-2.0
// Labels, tokens, entities and answers against the pipelines of `transformers`, on logits drawn by
// tests/fixtures/make/task_cases.py. Both compute in float32 or wider from the same float32 logits, so that scores
// agree to float32's rounding of numbers below 1: 1e-6.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/formats/json_lines.h"
#include "weft/tasks/decode/answers.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/decode/tagged_tokens.h"

namespace weft::tasks {
namespace {

using formats::Json;

constexpr double kScoreTolerance = 1e-6;

const std::filesystem::path kFixtures = WEFT_TEST_DATA_DIR;

std::size_t for_cases(const std::string& task, const std::function<void(const Json&)>& check) {
  std::size_t count = 0;
  for (const Json& line : formats::read_json_lines(kFixtures / "tasks" / "cases.jsonl")) {
    if (line["task"] == task) {
      SCOPED_TRACE(concat("case ", count++, ": ", line.value("text", std::string())));
      check(line);
    }
  }
  return count;
}

const text::HuggingFaceTokenizer& fixture_tokenizer(const std::string& name) {
  static const text::HuggingFaceTokenizer bert(kFixtures / "tokenizers" / "bert");
  static const text::HuggingFaceTokenizer roberta(kFixtures / "tokenizers" / "roberta");
  return name == "bert" ? bert : roberta;
}

TEST(DecodeCases, Labels) {
  const std::size_t count = for_cases("classify", [](const Json& line) {
    const auto logits = line["logits"].get<std::vector<float>>();
    const ScoreFunction function =
        score_function(line["function"].get<std::string>(), line["problem"].get<std::string>(),
                       static_cast<std::int64_t>(logits.size()));
    const std::vector<Scored> found = best(label_scores(logits, function), 0);
    ASSERT_EQ(found.size(), line["expected"].size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(line["labels"][static_cast<std::size_t>(found[i].index)], line["expected"][i]["label"]);
      EXPECT_NEAR(found[i].score, line["expected"][i]["score"].get<double>(), kScoreTolerance);
    }
  });
  EXPECT_EQ(count, 20U);
}

TEST(DecodeCases, Masks) {
  const std::size_t count = for_cases("fill", [](const Json& line) {
    const auto rows = line["rows"].get<std::vector<float>>();
    const auto targets = line["targets"].get<std::vector<std::int64_t>>();
    const auto vocabulary =
        static_cast<std::size_t>(fixture_tokenizer(line["tokenizer"].get<std::string>()).vocabulary_size());
    ASSERT_EQ(rows.size(), vocabulary * line["expected"].size());
    for (std::size_t mask = 0; mask < line["expected"].size(); ++mask) {
      const Json& expected = line["expected"][mask];
      const std::vector<Scored> found =
          best_tokens(std::span(rows).subspan(mask * vocabulary, vocabulary), {.count = 4, .targets = targets});
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].index, expected[i]["token"].get<std::int64_t>());
        EXPECT_NEAR(found[i].score, expected[i]["score"].get<double>(), kScoreTolerance);
      }
    }
  });
  EXPECT_EQ(count, 8U);
}

void expect_entity(const Entity& found, const Json& expected) {
  EXPECT_EQ(found.label, expected.value(expected.contains("entity") ? "entity" : "entity_group", ""));
  EXPECT_NEAR(found.score, expected["score"].get<double>(), kScoreTolerance);
  EXPECT_EQ(found.word, expected["word"].get<std::string>());
  EXPECT_EQ(found.offsets.begin, expected["start"].get<std::int64_t>());
  EXPECT_EQ(found.offsets.end, expected["end"].get<std::int64_t>());
  EXPECT_EQ(found.index, expected.value("index", std::int64_t{-1}));
}

TEST(DecodeCases, Entities) {
  const std::size_t count = for_cases("tag", [](const Json& line) {
    const text::HuggingFaceTokenizer& tokenizer = fixture_tokenizer(line["tokenizer"].get<std::string>());
    const auto text = line["text"].get<std::string>();
    const auto labels = line["labels"].get<std::vector<std::string>>();
    const auto logits = line["logits"].get<std::vector<float>>();
    const std::vector<TaggedToken> tokens =
        tagged_tokens(tokenizer, text, tokenizer.encode_windows(text).front(), logits);
    const std::vector<std::string> ignored = {"O"};
    const std::vector<Entity> found =
        without_labels(aggregate(tokens, labels, parse_aggregation(line["strategy"].get<std::string>()),
                                 [&](const std::vector<std::string>& parts) { return tokenizer.join(parts); }),
                       ignored);
    ASSERT_EQ(found.size(), line["expected"].size()) << line["strategy"];
    for (std::size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(concat(line["tokenizer"], " ", line["strategy"], " entity ", i));
      expect_entity(found[i], line["expected"][i]);
    }
  });
  EXPECT_EQ(count, 40U);
}

// A window as the fixture lays it out: [CLS] question [SEP] document [SEP], each token one character.
text::Encoding answer_window(std::size_t question, std::size_t tokens) {
  text::Encoding window;
  const std::size_t length = question + tokens + 3;
  for (std::size_t token = 0; token < length; ++token) {
    const bool special = token == 0 || token == question + 1 || token + 1 == length;
    const bool first = !special && token <= question;
    const auto place = static_cast<std::int64_t>(special ? 0 : first ? token - 1 : token - question - 2);
    window.ids.push_back(1);
    window.sequences.push_back(special ? -1 : first ? 0 : 1);
    window.offsets.push_back(special ? text::Span{} : text::Span{place, place + 1});
    window.byte_offsets.push_back(window.offsets.back());
  }
  return window;
}

TEST(DecodeCases, Answers) {
  const std::size_t count = for_cases("answer", [](const Json& line) {
    const auto question = line["question"].get<std::size_t>();
    const text::Encoding encoding = answer_window(question, line["tokens"].get<std::size_t>());
    const auto start = line["start"].get<std::vector<float>>();
    const auto end = line["end"].get<std::vector<float>>();
    const AnswerWindow window{&encoding, start, end};
    AnswerOptions options;
    options.count = static_cast<std::int64_t>(line["expected"].size());
    options.max_answer_tokens = line["longest"];
    const Answers found = select_answers({&window, 1}, options);
    EXPECT_NEAR(found.null_score, line["null_score"].get<double>(), kScoreTolerance);
    ASSERT_EQ(found.best.size(), line["expected"].size());
    for (std::size_t i = 0; i < found.best.size(); ++i) {
      const auto offset = static_cast<std::int64_t>(question) + 2;
      EXPECT_EQ(found.best[i].offsets.begin + offset, line["expected"][i][0].get<std::int64_t>());
      EXPECT_EQ(found.best[i].offsets.end - 1 + offset, line["expected"][i][1].get<std::int64_t>());
      EXPECT_NEAR(found.best[i].score, line["expected"][i][2].get<double>(), kScoreTolerance);
    }
  });
  EXPECT_EQ(count, 4U);
}

}  // namespace
}  // namespace weft::tasks
