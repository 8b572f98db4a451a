// SPDX-License-Identifier: Apache-2.0
// HotpotQA, TriviaQA, Natural Questions and WikiHop: whole questions, and every kind of damage.
#include <memory>

#include <gtest/gtest.h>

#include "readers/reading.h"
#include "weft/readers/open_answers/hotpot_reader.h"
#include "weft/readers/open_answers/natural_questions_reader.h"
#include "weft/readers/open_answers/trivia_reader.h"
#include "weft/readers/open_answers/wikihop_reader.h"

namespace weft::readers {
namespace {

template <typename ReaderType>
class Opened {
 public:
  Opened(const test::TemporaryDirectory& folder, std::string_view text) : path_(folder / "questions.json") {
    test::write_text(path_, text);
  }
  auto operator()(const ReadOptions& options) const { return std::make_unique<ReaderType>(path_, options); }
  auto records() const {
    ReaderType reader(path_);
    return test::all_records(reader);
  }

 private:
  std::filesystem::path path_;
};

constexpr std::string_view kHotpot =
    R"({"_id": "h", "question": "Q?", "answer": "yes", "type": "bridge", "supporting_facts": [["T", 1]],)"
    R"( "context": [["T", ["a.", " b."]], ["U", []]]})";

TEST(HotpotReader, ReadsFactsAndParagraphs) {
  const test::TemporaryDirectory folder;
  const auto found = Opened<HotpotReader>(folder, concat("[", kHotpot, "]")).records();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].facts, (std::vector<SupportingFact>{{"T", 1}}));
  EXPECT_EQ(found[0].paragraphs.at(0).sentences.at(1), " b.");
  EXPECT_EQ(found[0].level, "");
}

TEST(HotpotReader, DamageIsNamed) {
  const test::TemporaryDirectory folder;
  const auto expect = [&](std::string_view from, std::string_view to, std::initializer_list<std::string_view> words) {
    std::string broken(kHotpot);
    broken.replace(broken.find(from), from.size(), to);
    test::expect_malformed(Opened<HotpotReader>(folder, concat("[", kHotpot, ",\n", broken, ",", kHotpot, "]")), words,
                           1, 2);
  };
  expect(R"("_id")", R"("id")", {"questions.json' line 2", "'_id'", "none"});
  expect(R"("answer": "yes",)", "", {"question 'h'", "'answer'"});
  expect(R"(["T", 1])", R"(["T", 2])", {"question 'h'", "sentence 2 of 'T'", "has 2"});
  expect(R"(["T", 1])", R"(["T", -1])", {"sentence -1"});
  expect(R"(["T", 1])", R"(["V", 0])", {"paragraph 'V'", "none of that title"});
  expect(R"(["T", 1])", R"(["T"])", {"[title, number of its sentence]"});
  expect(R"([["T", ["a.", " b."]], ["U", []]])", "[]", {"at least one paragraph"});
  expect(R"(["a.", " b."])", "[1]", {"strings", "'sentences'"});
  expect(R"(["U", []])", R"(["U"])", {"[title, sentences]", "a list of 1"});
}

TEST(HotpotReader, AnEvaluationNeedsNoParagraphs) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "gold.json", R"([{"_id": "h", "answer": "no", "supporting_facts": [["V", 9]]}])");
  HotpotReader reader(folder / "gold.json", {}, QuestionPart::kGold);
  EXPECT_EQ(test::all_records(reader).at(0).facts.at(0).sentence, 9);
}

constexpr std::string_view kTrivia =
    R"({"QuestionId": "t", "Question": "Q?", "Answer": {"Value": "V", "NormalizedAliases": ["v"]},)"
    R"( "EntityPages": [{"Filename": "P.txt", "Title": "P"}]})";

TEST(TriviaReader, ReadsNamesAndPages) {
  const test::TemporaryDirectory folder;
  const Opened<TriviaReader> file(
      folder, concat(R"({"Data": [)", kTrivia, R"(], "Domain": "Web", "VerifiedEval": false, "Version": 1.0})"));
  const auto reader = file({});
  const auto found = test::all_records(*reader);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].normalized_aliases.at(0), "v");
  EXPECT_EQ(reader->domain(), "Web");
  EXPECT_FALSE(reader->verified_only());
}

TEST(TriviaReader, DamageIsNamed) {
  const test::TemporaryDirectory folder;
  const auto expect = [&](std::string_view from, std::string_view to, std::initializer_list<std::string_view> words) {
    std::string broken(kTrivia);
    broken.replace(broken.find(from), from.size(), to);
    const Opened<TriviaReader> file(folder, concat(R"({"Data": [)", kTrivia, ",\n", broken, R"(], "Domain": "Sea"})"));
    test::expect_malformed(file, words, 1, 1);
  };
  expect(R"(["v"])", "[]", {"line 2", "question 't'", "name", "none"});
  expect(R"("Answer")", R"("Answers")", {"'Answer'", "none"});
  expect(R"("QuestionId")", R"("Id")", {"'QuestionId'"});
  expect(R"([{"Filename": "P.txt", "Title": "P"}])", "[]", {"document", "none"});
  expect(R"("Filename")", R"("File")", {"'Filename'"});
  for (const char* name : {R"("")", R"("../P.txt")", R"("a/../../P.txt")", R"("/P.txt")", R"("P\u0000.txt")"}) {
    expect(R"("P.txt")", name, {"question 't'", "'Filename'", "evidence", "found"});
  }
  const auto reader = Opened<TriviaReader>(folder, R"({"Data": [], "Domain": "Sea"})")({});
  EXPECT_TRUE(test::all_records(*reader).empty());
  test::expect_error(ErrorKind::kFormat, {"'Domain'", "'Sea'"}, [&] { reader->domain(); });
  test::expect_error(ErrorKind::kFormat, {"'VerifiedEval'", "none"}, [&] { reader->verified_only(); });
}

TEST(TriviaReader, PagesStayInTheirFolder) {
  const test::TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "wikipedia");
  test::write_text(folder / "wikipedia/P.txt", "text");
  test::write_text(folder / "secret", "no");
  EXPECT_EQ(read_trivia_page(folder.path(), {TriviaPage::Source::kWikipedia, "P.txt"}), "text");
  test::expect_error(ErrorKind::kIo, {"Q.txt"},
                     [&] { read_trivia_page(folder.path(), {TriviaPage::Source::kWikipedia, "Q.txt"}); });
  test::expect_error(ErrorKind::kFormat, {"secret"},
                     [&] { read_trivia_page(folder.path(), {TriviaPage::Source::kWikipedia, "../secret"}); });
}

constexpr std::string_view kPage =
    R"({"example_id": -7, "question_text": "q", "document_text": "<P> a b </P>", "long_answer_candidates":)"
    R"( [{"start_token": 0, "end_token": 4, "top_level": true}], "annotations": [{"long_answer": {"start_token": 0,)"
    R"( "end_token": 4}, "short_answers": [{"start_token": 1, "end_token": 2}], "yes_no_answer": "NONE"}]})";

TEST(NaturalQuestionsReader, ReadsTheSimplifiedForm) {
  const test::TemporaryDirectory folder;
  const auto found = Opened<NaturalQuestionsReader>(folder, kPage).records();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, -7);
  ASSERT_EQ(found[0].tokens.size(), 4U);
  EXPECT_TRUE(found[0].tokens[3].html);
  EXPECT_EQ(found[0].tokens[2].text, "b");
  EXPECT_TRUE(found[0].annotations.at(0).has_short());
  EXPECT_FALSE(found[0].annotations.at(0).long_answer.has_bytes());
}

TEST(NaturalQuestionsReader, DamageIsNamed) {
  const test::TemporaryDirectory folder;
  const auto expect = [&](std::string_view from, std::string_view to, std::initializer_list<std::string_view> words) {
    std::string broken(kPage);
    broken.replace(broken.rfind(from), from.size(), to);
    test::expect_malformed(Opened<NaturalQuestionsReader>(folder, concat(kPage, "\n", broken, "\n", kPage)), words, 1,
                           2);
  };
  expect(R"("start_token": 1, "end_token": 2)", R"("start_token": 2, "end_token": 2)",
         {"line 2", "question -7", "2 to 2"});
  expect(R"("start_token": 1, "end_token": 2)", R"("start_token": -1, "end_token": 2)", {"both ends"});
  expect(R"("start_token": 1, "end_token": 2)", R"("start_token": 1, "end_token": 9)", {"token 9", "has 4"});
  expect(R"("NONE")", R"("MAYBE")", {"YES, NO or NONE", "'MAYBE'"});
  expect(R"("document_text")", R"("document")", {"'document_text'", "none"});
  expect(R"("long_answer": {)", R"("long": {)", {"'long_answer'"});
  expect(R"("end_token": 4}, )", R"("end_token": "4"}, )", {"whole number", "'end_token'"});
  expect(R"("example_id": -7)", R"("example_id": "x")", {"'example_id'"});
}

TEST(WikiHopReader, ReadsCandidatesAndNamesDamage) {
  constexpr std::string_view kHop =
      R"({"id": "w", "query": "country sms braunschweig", "answer": "a", "candidates": ["b", "a"], "supports": ["text"]})";
  const test::TemporaryDirectory folder;
  EXPECT_EQ(Opened<WikiHopReader>(folder, concat("[", kHop, "]")).records().at(0).candidates.size(), 2U);
  const auto expect = [&](std::string_view from, std::string_view to, std::initializer_list<std::string_view> words) {
    std::string broken(kHop);
    broken.replace(broken.find(from), from.size(), to);
    test::expect_malformed(Opened<WikiHopReader>(folder, concat("[", kHop, ",\n", broken, "]")), words, 1, 1);
  };
  expect(R"(["b", "a"])", R"(["b"])", {"line 2", "question 'w'", "'a'", "1 candidates"});
  expect(R"(["b", "a"])", "[]", {"0 candidates"});
  expect(R"(["text"])", "[]", {"document", "'supports'"});
  expect(R"("query")", R"("queries")", {"'query'", "none"});
}

}  // namespace
}  // namespace weft::readers
