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

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  return changed.replace(changed.rfind(from), from.size(), to);
}

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
    const std::string other = replaced(kHotpot, R"("h")", R"("g")");
    const std::string broken = replaced(kHotpot, from, to);
    test::expect_malformed(Opened<HotpotReader>(folder, concat("[", other, ",\n", broken, ",", kHotpot, "]")), words, 1,
                           2);
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
  expect(R"("h")", R"("g")", {"questions.json' line 2", "question 'g'", "an id that no question before has"});
  expect(R"([["T", 1]])", "7.5", {"a list at 'supporting_facts'", "number '7.5'"});
}

// What was refused is no question: its id is free.
TEST(HotpotReader, AnIdIsThatOfAWholeQuestion) {
  const test::TemporaryDirectory folder;
  const std::string broken = replaced(kHotpot, R"("yes")", "1");
  test::expect_malformed(Opened<HotpotReader>(folder, concat("[", broken, ",", kHotpot, "]")), {"'answer'"}, 1, 1);
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
    const std::string other = replaced(kTrivia, R"("t")", R"("s")");
    const std::string broken = replaced(kTrivia, from, to);
    const Opened<TriviaReader> file(folder, concat(R"({"Data": [)", other, ",\n", broken, R"(], "Domain": "Sea"})"));
    test::expect_malformed(file, words, 1, 1);
  };
  expect(R"(["v"])", "[]", {"line 2", "question 't'", "name", "none"});
  expect(R"("Answer")", R"("Answers")", {"'Answer'", "none"});
  expect(R"("QuestionId")", R"("Id")", {"'QuestionId'"});
  expect(R"("t")", R"("s")", {"questions.json' line 2", "question 's'", "an id that no question before has"});
  expect(R"("Title")", R"("DocPartOfVerifiedEval": "no", "Title")", {"true or false", "string '\"no\"'"});
  expect(R"([{"Filename": "P.txt", "Title": "P"}])", "[]", {"document", "none"});
  expect(R"("Filename")", R"("File")", {"'Filename'"});
  for (const char* name : {R"("")", R"("../P.txt")", R"("a/../../P.txt")", R"("/P.txt")", R"("P\u0000.txt")"}) {
    expect(R"("P.txt")", name, {"question 't'", "'Filename'", "evidence", "found"});
  }
  const auto reader = Opened<TriviaReader>(folder, R"({"Data": [], "Domain": "Sea"})")({});
  EXPECT_TRUE(test::all_records(*reader).empty());
  test::expect_error(ErrorKind::kFormat, {"'Domain'", "'\"Sea\"'"}, [&] { reader->domain(); });
  test::expect_error(ErrorKind::kFormat, {"'VerifiedEval'", "none"}, [&] { reader->verified_only(); });
  const auto typed = Opened<TriviaReader>(folder, R"({"Data": [], "Domain": 5, "VerifiedEval": "no"})")({});
  EXPECT_TRUE(test::all_records(*typed).empty());
  test::expect_error(ErrorKind::kFormat, {"'Domain'", "number '5'"}, [&] { typed->domain(); });
  test::expect_error(ErrorKind::kFormat, {"'VerifiedEval'", "string '\"no\"'"}, [&] { typed->verified_only(); });
  for (const char* name : {"Data", "Domain"}) {
    const auto twice = Opened<TriviaReader>(folder, concat("{\"", name, "\": [], \"", name, "\": []}"))({});
    test::expect_error(ErrorKind::kFormat, {"the key", name, "appears twice"}, [&] { test::all_records(*twice); });
  }
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
    const std::string other = replaced(kPage, "-7", "5");
    const std::string broken = replaced(kPage, from, to);
    test::expect_malformed(Opened<NaturalQuestionsReader>(folder, concat(other, "\n", broken, "\n", kPage)), words, 1,
                           2);
  };
  expect(R"("start_token": 1, "end_token": 2)", R"("start_token": 2, "end_token": 2)",
         {"line 2", "question -7", "2 to 2"});
  expect(R"("start_token": 1, "end_token": 2)", R"("start_token": -1, "end_token": 2)", {"both ends"});
  expect(R"("start_token": 1, "end_token": 2)", R"("start_token": 1, "end_token": 9)", {"token 9", "has 4"});
  expect(R"("NONE")", R"("MAYBE")", {"YES, NO or NONE", "'MAYBE'"});
  expect(R"("document_text")", R"("document")", {"'document_text'", "none"});
  expect(R"("long_answer": {)", R"("long": {)", {"'long_answer'"});
  expect(R"("end_token": 4}, )", R"("end_token": "4"}, )", {"whole number", "'end_token'", "string '\"4\"'"});
  expect(R"("end_token": 4}, )", R"("end_token": 4.0}, )", {"whole number", "'end_token'", "number '4.0'"});
  expect(R"("end_token": 4}, )", R"("end_token": null}, )", {"whole number", "'end_token'", "found null"});
  expect(R"("example_id": -7)", R"("example_id": "x")", {"'example_id'"});
  expect("-7", "1180591620717411303424", {"whole number", "'example_id'", "number '1.18059"});
  expect("-7", "5", {"questions.json' line 2", "question 5", "an id that no question before has"});
}

// The full form: bytes of the page's HTML, which ends where it ends or where its last token does.
TEST(NaturalQuestionsReader, BytesLieOnThePage) {
  constexpr std::string_view kFull =
      R"({"example_id": 1, "question_text": "q", "document_html": "<P>é</P>", "document_tokens": [{"token": "<P>",)"
      R"( "start_byte": 0, "end_byte": 3, "html_token": true}, {"token": "é", "start_byte": 3, "end_byte": 5}],)"
      R"( "long_answer_candidates": [{"start_token": 0, "end_token": 2, "start_byte": 0, "end_byte": 5}], "annotations":)"
      R"( [{"long_answer": {"start_token": 0, "end_token": 2, "start_byte": 0, "end_byte": 9}, "short_answers": [],)"
      R"( "yes_no_answer": "NONE"}]})";
  const test::TemporaryDirectory folder;
  const auto records = [&](const std::string& text) { return Opened<NaturalQuestionsReader>(folder, text).records(); };
  const auto refuse = [&](const std::string& text, std::initializer_list<std::string_view> words) {
    test::expect_malformed(Opened<NaturalQuestionsReader>(folder, text), words, 1, 0);
  };
  EXPECT_EQ(records(std::string(kFull)).at(0).annotations.at(0).long_answer.end_byte, 9);
  refuse(replaced(kFull, R"("end_byte": 9)", R"("end_byte": 10)"), {"question 1", "byte 10", "has 9"});
  refuse(replaced(kFull, R"("start_byte": 0, "end_byte": 9)", R"("start_byte": 9, "end_byte": 9)"), {"bytes 9 to 9"});
  for (const char* html : {R"("document_html": "")", R"("other": "")"}) {
    const std::string shorter = replaced(kFull, R"("document_html": "<P>é</P>")", html);
    refuse(shorter, {"question 1", "byte 9", "has 5"});
    const std::string beyond = replaced(shorter, R"("end_byte": 9)", R"("end_byte": 5)");
    EXPECT_EQ(records(beyond).size(), 1U);
    refuse(replaced(beyond, R"("end_byte": 5}], "ann)", R"("end_byte": 6}], "ann)"), {"byte 6", "has 5"});
    // Nothing says where such a page ends.
    EXPECT_EQ(records(replaced(replaced(shorter, R"("start_byte": 3, "end_byte": 5)", R"("e": 5)"),
                               R"("start_byte": 0, "end_byte": 3)", R"("e": 3)"))
                  .size(),
              1U);
  }
}

TEST(NaturalQuestionsReader, AnAnnotationMaySayYesBesideSpans) {
  const test::TemporaryDirectory folder;
  const auto found = Opened<NaturalQuestionsReader>(folder, replaced(kPage, R"("NONE")", R"("YES")")).records();
  EXPECT_TRUE(found.at(0).annotations.at(0).has_short_spans());
  EXPECT_EQ(found.at(0).annotations.at(0).yes_no, PageAnswer::YesNo::kYes);
}

TEST(WikiHopReader, ReadsCandidatesAndNamesDamage) {
  constexpr std::string_view kHop =
      R"({"id": "w", "query": "country sms braunschweig", "answer": "a", "candidates": ["b", "a"], "supports": ["text"]})";
  const test::TemporaryDirectory folder;
  EXPECT_EQ(Opened<WikiHopReader>(folder, concat("[", kHop, "]")).records().at(0).candidates.size(), 2U);
  const auto expect = [&](std::string_view from, std::string_view to, std::initializer_list<std::string_view> words) {
    const std::string other = replaced(kHop, R"("w")", R"("v")");
    const std::string broken = replaced(kHop, from, to);
    test::expect_malformed(Opened<WikiHopReader>(folder, concat("[", other, ",\n", broken, "]")), words, 1, 1);
  };
  expect(R"(["b", "a"])", R"(["b"])", {"line 2", "question 'w'", "'a'", "1 candidates"});
  expect(R"(["b", "a"])", "[]", {"0 candidates"});
  expect(R"(["text"])", "[]", {"document", "'supports'"});
  expect(R"("query")", R"("queries")", {"'query'", "none"});
  expect(R"(["text"])", R"(["text", 4])", {"strings in the list 'supports'", "number '4'"});
  expect(R"("w")", R"("v")", {"questions.json' line 2", "question 'v'", "an id that no question before has"});
}

}  // namespace
}  // namespace weft::readers
