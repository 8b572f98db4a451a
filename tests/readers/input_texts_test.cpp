// SPDX-License-Identifier: Apache-2.0
// Texts for a model out of lines, JSON lines, tables and FASTA, by name and by first line, and what is wrong with them.
#include "weft/readers/input/input_texts.h"
#include "weft/readers/input/group_columns.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "readers/reading.h"
#include "weft/readers/input/file_kind.h"

namespace weft::readers {
namespace {

class InputTextsTest : public testing::Test {
 protected:
  // The texts of a file of that name and content; pairs as "first|second".
  std::vector<std::string> texts(const std::string& name, const std::string& content,
                                 const InputTextOptions& options = {}) {
    test::write_text(folder_ / name, content);
    InputTexts source(ByteSource::stream(folder_ / name), options);
    std::vector<std::string> found;
    for (InputText text; source.next(text);) {
      found.push_back(text.second ? text.first + "|" + *text.second : text.first);
      last_place_ = text.where;
    }
    return found;
  }
  void expect_malformed(const std::string& name, const std::string& content,
                        std::initializer_list<std::string_view> words, const InputTextOptions& options = {}) {
    test::expect_error(ErrorKind::kFormat, words, [&] { texts(name, content, options); });
  }

  test::TemporaryDirectory folder_;
  std::string last_place_;
};

using Texts = std::vector<std::string>;

TEST_F(InputTextsTest, LinesAreTextsEvenEmptyOnes) {
  EXPECT_EQ(texts("a.txt", "one\r\n\n two\xFF\nlast"), (Texts{"one", "", " two\xFF", "last"}));
  EXPECT_TRUE(last_place_.ends_with("a.txt' line 4")) << last_place_;
  EXPECT_EQ(texts("empty", ""), Texts{});
  EXPECT_EQ(texts("a.tsv", "no\tlabel\nb\tc\n", {.pairs = true}), (Texts{"no|label", "b|c"}));
  expect_malformed("a.txt", "a\tb\nnone\n", {"a.txt' line 2", "one tab"}, {.pairs = true});
  expect_malformed("a.txt", "a\tb\tc\n", {"a.txt' line 1", "one tab"}, {.pairs = true});
}

TEST_F(InputTextsTest, JsonLinesAreToldByNameOrFirstLine) {
  const std::string json = "{\"id\": 7, \"text\": \"one \\u00e9\"}\n\n{\"text\": \"two\", \"label\": 1}\n";
  for (const char* name : {"a.jsonl", "a.ndjson", "a.txt", "a"}) {
    EXPECT_EQ(texts(name, json), (Texts{"one é", "two"})) << name;
    EXPECT_TRUE(last_place_.ends_with("line 3")) << last_place_;
  }
  EXPECT_EQ(texts("a.jsonl", json, {.format = "lines"}).front(), "{\"id\": 7, \"text\": \"one \\u00e9\"}");
  EXPECT_EQ(texts("a.txt", "{not json}\nb\n"), (Texts{"{not json}", "b"}));
  EXPECT_EQ(texts("a.txt", "{\"id\": 1}\n"), Texts{"{\"id\": 1}"});
  EXPECT_EQ(texts("a.txt", "{\"body\": \"b\"}\n", {.text_field = "body"}), Texts{"b"});
  EXPECT_EQ(texts("a.jsonl", "{\"a\": \"1\", \"b\": \"2\"}\n", {.pairs = true, .text_field = "a", .pair_field = "b"}),
            Texts{"1|2"});
  expect_malformed("a.jsonl", "{\"text\": \"a\"}\n{\"text\": 3}\n", {"a.jsonl' line 2", "'text'", "number"});
  expect_malformed("a.jsonl", "{\"text\": \"a\"}\n{\"text\":\n", {"a.jsonl' line 2", "JSON"});
  expect_malformed("a.jsonl", "{\"body\": \"a\"}\n", {"a.jsonl' line 1", "no field 'text'"});
}

TEST_F(InputTextsTest, FastaHeadersAreNoTexts) {
  const std::string fasta = ">chr1 one\nACGT\nACG\n>chr2\nTT\n";
  for (const char* name : {"a.fa", "a.fasta", "a.txt"}) {
    EXPECT_EQ(texts(name, fasta), (Texts{"ACGTACG", "TT"})) << name;
    EXPECT_TRUE(last_place_.ends_with("line 4")) << last_place_;
  }
  EXPECT_EQ(texts("a.fa", fasta, {.format = "lines"}).size(), 5U);
  EXPECT_EQ(texts("mail.txt", "> you wrote\n>> this\n"), (Texts{"> you wrote", ">> this"}));
  expect_malformed("a.fa", "ACGT\n", {"a.fa' line 1", "header"});
}

TEST_F(InputTextsTest, TablesWithATextColumnAreTables) {
  EXPECT_EQ(texts("a.csv", "id,text\n1,\"a, b\"\n2,c\n"), (Texts{"a, b", "c"}));
  EXPECT_EQ(texts("a.tsv", "sentence\tlabel\na b\t1\n"), Texts{"a b"});
  EXPECT_EQ(texts("a.csv", "body,x\na,b\n", {.text_field = "body"}), Texts{"a"});
  EXPECT_EQ(texts("a.csv", "one, two\nthree\n"), (Texts{"one, two", "three"}));
  EXPECT_EQ(texts("a", "text,x\na,b\n", {.format = "csv"}), Texts{"a"});
  test::expect_error(ErrorKind::kArgument, {"a.csv", "no column 'body'", "'text'"},
                     [&] { texts("a.csv", "text,x\na,b\n", {.text_field = "body"}); });
}

TEST_F(InputTextsTest, TwoTextsAreColumnsWhereTheHeaderIsKnown) {
  const std::string table = "sentence1\tsentence2\na\tb\n";
  EXPECT_EQ(texts("a.tsv", table, {.pairs = true, .text_field = "sentence1", .pair_field = "sentence2"}), Texts{"a|b"});
  EXPECT_EQ(texts("a.tsv", table, {.format = "lines", .pairs = true}), (Texts{"sentence1|sentence2", "a|b"}));
  for (const char* header : {"sentence1\tsentence2", "Premise\tHypothesis", "text\tlabel"}) {
    test::expect_error(ErrorKind::kArgument, {"a.tsv", "needs the field of the second text"},
                       [&] { texts("a.tsv", std::string(header) + "\na\tb\n", {.pairs = true}); });
  }
  EXPECT_EQ(texts("a.tsv", "a\tb\nc\td\n", {.pairs = true}), (Texts{"a|b", "c|d"}));
  test::expect_error(ErrorKind::kArgument, {"a.txt", "lines of text", "'b'"},
                     [&] { texts("a.txt", "a\tb\n", {.pairs = true, .pair_field = "b"}); });
}

TEST_F(InputTextsTest, UsualNamesAreFoundInAnyCapitals) {
  constexpr std::array<std::string_view, 1> kFirst = {"source"};
  constexpr std::array<std::string_view, 1> kSecond = {"target"};
  const InputTextOptions usual{.pairs = true, .usual_texts = kFirst, .usual_pairs = kSecond};
  EXPECT_EQ(texts("a.csv", "Target,SOURCE\na,b\n", usual), Texts{"b|a"});
  EXPECT_EQ(texts("a.jsonl", "{\"Source\": \"a\", \"target\": \"b\"}\n", usual), Texts{"a|b"});
  EXPECT_EQ(texts("a.txt", "a\tb\n", usual), Texts{"a|b"});
  expect_malformed("a.jsonl", "{\"Source\": \"a\"}\n", {"a.jsonl' line 1", "'target', found none"}, usual);
  test::expect_error(ErrorKind::kArgument, {"a.csv", "no column 'target'"},
                     [&] { texts("a.csv", "Source\na\n", usual); });
}

TEST_F(InputTextsTest, RecordsHaveIds) {
  const auto ids = [&](const std::string& name, const std::string& content) {
    test::write_text(folder_ / name, content);
    InputTexts source(ByteSource::stream(folder_ / name), {.keep_ids = true});
    std::vector<std::string> found;
    for (InputText text; source.next(text);) {
      found.push_back(text.id);
    }
    return found;
  };
  EXPECT_EQ(ids("a.jsonl",
                "{\"text\": \"a\", \"ID\": 7}\n{\"text\": \"b\", \"_id\": \"x\"}\n{\"text\": \"c\", \"id\": []}\n"),
            (Texts{"7", "x", ""}));
  EXPECT_EQ(ids("a.csv", "_Id,text\n7,a\n"), Texts{"7"});
  EXPECT_EQ(ids("a.csv", "text\na\n"), Texts{""});
}

TEST_F(InputTextsTest, ATableIsNoFileOfObjects) {
  EXPECT_EQ(texts("a.json", "[{\"text\": \"a\"}]", {.format = "objects"}), Texts{"a"});
  expect_malformed("a.csv", "text,choices\na,b\n", {"a.csv': expected JSON objects", "found a table with commas"},
                   {.format = "objects"});
  expect_malformed("a.txt", "prose\n", {"a.txt' line 1", "JSON"}, {.format = "objects"});
}

TEST_F(InputTextsTest, GzipIsReadAndARecordHasALimit) {
  test::append_gzip(folder_ / "a.jsonl.gz", "{\"text\": \"zipped\"}\n");
  InputTexts source(ByteSource::stream(folder_ / "a.jsonl.gz"), {});
  InputText text;
  ASSERT_TRUE(source.next(text));
  EXPECT_EQ(text.first, "zipped");
  InputTexts endless(ByteSource::stream("/dev/zero"), {});
  test::expect_error(ErrorKind::kFormat, {"'/dev/zero' line 1", "at most 268435456 bytes"},
                     [&] { endless.next(text); });
}

TEST_F(InputTextsTest, FilesSayWhatTheyHold) {
  const auto format = [&](const std::string& name, const std::string& content) {
    test::write_text(folder_ / name, content);
    return kind_of_file(folder_ / name).format;
  };
  EXPECT_EQ(format("bad.jsonl", "{broken\n"), "jsonl");
  EXPECT_EQ(format("bad", "{broken\n"), "jsonl");
  EXPECT_EQ(format("genome", ">chr1\nAC\n"), "fasta");
  EXPECT_EQ(format("notes", "text\n"), "text");
  EXPECT_EQ(format("notes.txt", "{\n"), "text");
  EXPECT_EQ(format("dev.json", "{\"data\": [\n]}"), "squad");
  EXPECT_EQ(format("lines.json", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n"), "jsonl");
  EXPECT_EQ(format("a.conll", "word O\n"), "conll");
  EXPECT_EQ(format_of_name("x/a.csv.gz"), "csv");
}

TEST(GroupColumns, NoColumnIsFoundTwice) {
  const GroupColumns triplets = usual_group_columns({"id", "query", "positive", "negative_1", "negative_2"});
  EXPECT_EQ(triplets.query, "query");
  EXPECT_EQ(triplets.text, "positive");
  EXPECT_EQ(triplets.negatives, (std::vector<std::string>{"negative_1", "negative_2"}));
  EXPECT_EQ(triplets.score, "");
  const GroupColumns scored = usual_group_columns({"sentence2", "sentence1", "label"});
  EXPECT_EQ(scored.query, "sentence1");
  EXPECT_EQ(scored.text, "sentence2");
  EXPECT_EQ(scored.score, "label");
  EXPECT_EQ(usual_group_columns({"text", "label"}).query, "");
}

}  // namespace
}  // namespace weft::readers
