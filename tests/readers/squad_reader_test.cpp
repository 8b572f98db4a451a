// SPDX-License-Identifier: Apache-2.0
// SQuAD's JSON in any order of its keys, with answers held to their place.
#include "weft/readers/squad_reader.h"

#include <memory>

#include <gtest/gtest.h>

#include "readers/reading.h"

namespace weft::readers {
namespace {

constexpr std::string_view kArticle =
    R"({"version": "v2.0", "data": [{"title": "T\"", "paragraphs": [
 {"qas": [{"id": "1", "question": "What?", "answers": [{"text": "été", "answer_start": 3}], "is_impossible": false},
          {"id": "2", "question": "Who?", "answers": [], "plausible_answers": [{}], "is_impossible": true}],
  "context": "un été ]}\" {["},
 {"context": "b", "qas": []}]}, {"paragraphs": [{"context": "xyz", "qas":
 [{"id": "3", "question": "Y?", "answers": [{"text": "y", "answer_start": 1}]}]}], "title": "late"}], "extra": [1, {"a": [null]}]})";

auto opener(const std::filesystem::path& path) {
  return [path](const ReadOptions& options) { return std::make_unique<SquadReader>(path, options); };
}

TEST(SquadReader, ReadsQuestionsOfEveryParagraph) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a.json", kArticle);
  SquadReader reader(folder / "a.json");
  const auto questions = test::all_records(reader);
  ASSERT_EQ(questions.size(), 3U);
  EXPECT_EQ(questions[0].title, "T\"");
  EXPECT_EQ(*questions[0].context, "un été ]}\" {[");
  EXPECT_EQ(questions[0].answers.at(0).text, "été");
  EXPECT_EQ(questions[0].answers.at(0).start, 3);
  EXPECT_EQ(questions[0].context, questions[1].context);
  EXPECT_TRUE(questions[1].impossible);
  EXPECT_EQ(questions[2].id, "3");
  EXPECT_FALSE(questions[2].impossible);
}

TEST(SquadReader, AnIdMayBeANumber) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a.json", R"({"data": [{"paragraphs": [{"context": "b", "qas":
      [{"id": 262, "question": "Q", "answers": [{"text": "b", "answer_start": 0}]}]}]}]})");
  SquadReader reader(folder / "a.json");
  EXPECT_EQ(test::all_records(reader).at(0).id, "262");
}

std::string one_question(const std::string& question) {
  const std::string good = R"({"id": "ok", "question": "Q", "answers": [{"text": "b", "answer_start": 1}]})";
  return "{\"data\": [{\"paragraphs\": [\n{\"context\": \"abc\", \"qas\": [" + good + ", " + question + ", " + good +
         "]}]}]}";
}

TEST(SquadReader, AMalformedQuestionIsOne) {
  const test::TemporaryDirectory folder;
  const auto expect = [&](const std::string& question, std::initializer_list<std::string_view> words) {
    test::write_text(folder / "a.json", one_question(question));
    test::expect_malformed(opener(folder / "a.json"), words, 1, 2);
  };
  expect(R"({"id": "q", "question": "Q", "answers": [{"text": "b", "answer_start": 2}]})",
         {"a.json' line 2", "question 'q'", "answer 'b' at 2", "found 'c'"});
  expect(R"({"id": "q", "question": "Q", "answers": [{"text": "b", "answer_start": -1}]})", {"at -1"});
  expect(R"({"id": "q", "question": "Q", "answers": [{"text": "b", "answer_start": 99999999999}]})", {"found ''"});
  expect(R"({"id": "q", "question": "Q", "answers": [{"text": "b"}]})", {"answer_start"});
  expect(R"({"id": "q", "question": "Q", "answers": [{"text": "b", "answer_start": 18446744073709551615}]})",
         {"a.json' line 2", "'answer_start'", "below 2^63", "18446744073709551615"});
  expect(R"({"id": "q", "question": "Q", "answers": []})", {"must have an answer"});
  expect(R"({"id": "q", "question": "Q", "answers": [{"text": "b", "answer_start": 1}], "is_impossible": true})",
         {"impossible", "no answer"});
  expect(R"({"id": "q", "question": "Q", "answers": [], "is_impossible": 1})", {"true or false"});
  expect(R"({"id": "q", "question": 4, "answers": []})", {"'question'", "number"});
  expect(R"({"question": "Q"})", {"'id'", "none"});
  expect("7", {"'id'"});
}

TEST(SquadReader, QuestionsWithoutAnswersCanBeAsked) {
  const test::TemporaryDirectory folder;
  for (const char* answers : {"", R"(, "answers": [])", R"(, "answers": [{"text": "z", "answer_start": 1}])"}) {
    test::write_text(folder / "a.json", one_question(concat(R"({"id": "x", "question": "Q")", answers, "}")));
    SquadReader reader(folder / "a.json", {}, SquadAnswers::kLeftOut);
    const auto questions = test::all_records(reader);
    ASSERT_EQ(questions.size(), 3U) << answers;
    EXPECT_EQ(questions[1].question, "Q");
    EXPECT_TRUE(questions[0].answers.empty());
    test::expect_malformed(opener(folder / "a.json"), {"question 'x'"}, 1, 2);
  }
}

TEST(SquadReader, AMalformedParagraphIsOne) {
  const test::TemporaryDirectory folder;
  const std::string good =
      R"({"context": "b", "qas": [{"id": "1", "question": "", "answers": [{"text": "b", "answer_start": 0}]}]})";
  for (const char* bad :
       {R"({"qas": []})", R"({"context": "x"})", R"({"context": "x", "context": "y", "qas": []})", "[1 2]", "tru"}) {
    test::write_text(folder / "a.json", concat(R"({"data": [{"paragraphs": [)", good, ", ", bad, ", ", good, "]}]}"));
    test::expect_malformed(opener(folder / "a.json"), {"a.json' line 1"}, 1, 2);
  }
  test::write_text(folder / "a.json", concat(R"({"data": [{"paragraphs": [)", good,
                                             R"(]}, {"title": "t"}, {"paragraphs": [)", good, "]}]}"));
  test::expect_malformed(opener(folder / "a.json"), {"a.json' line 1", "'t'", "no list 'paragraphs'"}, 1, 2);
}

TEST(SquadReader, BrokenJsonEndsTheReading) {
  const test::TemporaryDirectory folder;
  const std::string deep(100000, '[');
  for (const std::string bad :
       {"", "[]", "{\"data\": {}}", "{}", "{\"data\": [}", "{\"data\": [] \"a\": 1}", "{\"data\": []} x",
        "{\"data\": [{\"paragraphs\": [{\"context\": \"", "{\"data\": [{\"paragraphs\": [{}", "{1: 2}",
        "{\"data\": [{\"paragraphs\": []}, ]}", "{\"other\": \"\xff\", \"data\": []}"}) {
    test::write_text(folder / "a.json", bad);
    test::expect_error(ErrorKind::kFormat, {"a.json' line 1"},
                       [&] { test::all_records(*opener(folder / "a.json")({.skip_malformed = true})); });
  }
  test::write_text(folder / "a.json", "{\"deep\": " + deep);
  test::expect_error(ErrorKind::kFormat, {"a.json"}, [&] { test::all_records(*opener(folder / "a.json")({})); });
}

}  // namespace
}  // namespace weft::readers
