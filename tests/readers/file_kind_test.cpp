// SPDX-License-Identifier: Apache-2.0
// What a file is follows from what stands in it, whatever its name, encoding and compression; prose stays prose, and
// what is neither is one error.
#include "weft/readers/input/file_kind.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "readers/encodings.h"
#include "readers/reading.h"
#include "weft/core/log.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/input/input_texts.h"
#include "weft/readers/json_document_reader.h"
#include "weft/readers/table_reader.h"

namespace weft::readers {
namespace {

using Texts = std::vector<std::string>;

struct Content {
  std::string format;
  std::string text;
  Texts texts;
};

const Texts kTwo = {"good, \"film\"", "schlecht \xC3\xA9 \xF0\x9F\x98\x80"};
const std::string kFirst = R"({"id": 1, "text": "good, \"film\"", "label": "a"})";
const std::string kSecond = "{\"text\": \"schlecht \xC3\xA9 \xF0\x9F\x98\x80\", \"label\": \"b\"}";

// The same two records in every form, and forms with texts of their own.
const std::vector<Content> kContents = {
    {"csv", "id,text,label\n1,\"good, \"\"film\"\"\",a\n\n2," + kTwo[1] + ",b\n", kTwo},
    {"csv", "\"text\",label\n\"good, \"\"film\"\"\",a\n" + kTwo[1] + ",b\n", kTwo},
    {"tsv", "text\tlabel\n" + kTwo[0] + "\ta\n" + kTwo[1] + "\tb\n", kTwo},
    {"jsonl", kFirst + "\n\n" + kSecond + "\n", kTwo},
    {"jsonl", "\n \n" + kFirst + "\n" + kSecond + "\n", kTwo},
    {"json", "[" + kFirst + ", " + kSecond + "]\n", kTwo},
    {"json", "\n[\n  " + kFirst + ",\n  " + kSecond + "\n]\n", kTwo},
    {"json", "[ {\n\"text\": \"good, \\\"film\\\"\"\n}\n,\n" + kSecond + " ]", kTwo},
    {"json", "{\n  \"id\": {\"a\": [1]},\n  \"text\": \"good, \\\"film\\\"\"\n}\n" + kSecond + "\n", kTwo},
    {"fasta", ">chr1 one\nACGT\nACG\n;none\n>chr2\nTT\n", {"ACGTACG", "TT"}},
    {"conll", "-DOCSTART- -X- O\n\nthe DT O\nloom NN B-X\n\nwe PR O\nsee VB O\n", {"the loom", "we see"}},
    {"conll", "the\tO\nloom\tB-X\n\nwe\tO\nsee\tO\n", {"the loom", "we see"}},
    {"squad",
     R"({"version": "2", "data": [{"title": "t", "paragraphs": [{"context": "the loom", "qas": [{"id": "1",)"
     R"( "question": "who?", "is_impossible": true, "answers": []}]}]}]})",
     {"the loom"}},
    {"squad",
     "{\"data\": [\n{\"paragraphs\": [{\"context\": \"the loom\", \"qas\": [{\"id\": 1, \"question\": \"who?\",\n"
     "\"answers\": [{\"text\": \"loom\", \"answer_start\": 4}]}]}]}\n]}\n",
     {"the loom"}},
};

// Names that say something else than the content, too.
const std::vector<std::string> kFileNames = {"a.csv",    "A.CSV",    "a.Tsv",  "a.tab",   "a.jsonl", "A.JSONL",
                                             "a.ndjson", "a.json",   "a.JSON", "a.txt",   "A.TXT",   "a",
                                             "a.dat",    "a.v2.csv", "a.md",   "a.fasta", ".hidden"};

class FileKindTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }  // what was decided is said each time
  void TearDown() override { set_log_level(LogLevel::kWarning); }
  std::filesystem::path write(const std::string& name, const std::string& bytes, bool zipped = false) {
    const auto path = folder_ / (name + (zipped ? (name.size() % 2 == 0 ? ".GZ" : ".gz") : ""));
    std::filesystem::remove(path);
    if (zipped) {
      test::append_gzip(path, bytes);
    } else {
      test::write_text(path, bytes);
    }
    return path;
  }
  static Texts texts_of(const std::filesystem::path& path, const InputTextOptions& options = {}) {
    InputTexts source(ByteSource::stream(path), options);
    Texts found;
    for (InputText text; source.next(text);) {
      found.push_back(text.first);
    }
    return found;
  }
  std::string format(const std::string& name, const std::string& bytes) {
    return kind_of_file(write(name, bytes)).format;
  }

  test::TemporaryDirectory folder_;
};

std::string with_crlf(const std::string& text) {
  std::string result;
  for (const char byte : text) {
    result += byte == '\n' ? "\r\n" : std::string(1, byte);
  }
  return result;
}

TEST_F(FileKindTest, ContentsDecideWhateverNameEncodingAndCompression) {
  for (std::size_t content = 0; content < kContents.size(); ++content) {
    const Content& given = kContents[content];
    for (const std::string& name : kFileNames) {
      for (int variant = 0; variant < 2 * 2 * test::kEncodings; ++variant) {
        const bool zipped = variant % 2 == 1;
        const std::string text = variant / 2 % 2 == 1 ? with_crlf(given.text) : given.text;
        const std::filesystem::path path = write(name, test::encoded(text, variant / 4), zipped);
        const FileKind kind = kind_of_file(path);
        ASSERT_EQ(kind.format, given.format) << path << " content " << content << " variant " << variant;
        ASSERT_TRUE(kind.sure && kind.by_content()) << path;
        ASSERT_EQ(texts_of(path), given.texts) << path << " content " << content << " variant " << variant;
      }
    }
  }
}

TEST_F(FileKindTest, ProseStaysProse) {
  const std::vector<std::string> prose = {
      "Hello, world\nfoo, bar\n",
      "text, or so they say\nyes, we do\n",
      "text,label\nthis one has no second field\n",
      "a review, a sentence\nof this, and that\n",
      "name\tvalue\n1\t2\n",
      ">quoted by mail\n> and more of it\n",
      ">who said\nnot me, he said\n",
      "> you wrote\n>> this\n",
      "{brace} and more\nb\n",
      "{\"a\": 1} is JSON, and this is a sentence\n",
      "[Chorus]\nla la\n",
      "[{curly\n",
      "[1] A reference\n[2] Another\n",
      "[\"quoted\", she said]\n",
      "They need vitamin O\nand so on\n",
      "Vitamin O\nVitamin C\n",
      "data: [1, 2]\n",
      "",
      "\n\n\n",
  };
  for (const std::string& text : prose) {
    for (const char* name : {"a.txt", "a.TXT", "a.md", "a.txt.gz"}) {
      EXPECT_EQ(format(name, text), "text") << name << ": " << text;
    }
    if (!text.starts_with('{')) {
      EXPECT_EQ(format("a", text), "text") << text;
    }
    const auto count = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(texts_of(write("a.txt", text)).size(), count) << text;
    EXPECT_EQ(texts_of(write("a", text)).size(), count) << text;
  }
}

TEST_F(FileKindTest, NamesDecideWhereContentsDoNot) {
  EXPECT_EQ(format("a.csv", "body,stars\nx,1\n"), "csv");
  EXPECT_EQ(format("A.CSV", "text,label\nx\n"), "csv");  // malformed, and its reader says so
  EXPECT_EQ(format("a.TSV", "x\n"), "tsv");
  EXPECT_EQ(format("a.Jsonl", "{broken\n"), "jsonl");
  EXPECT_EQ(format("a.jsonl.gz", ""), "jsonl");
  EXPECT_EQ(format("a.FA", "ACGT\n"), "fasta");
  EXPECT_EQ(format("a.CoNLL", "word\n"), "conll");
  EXPECT_EQ(format("a.json", ""), "json");
  EXPECT_EQ(format("a.json", "[1, 2]"), "json");
  EXPECT_EQ(format("a.json", "[]\n"), "json");
  EXPECT_EQ(format("a.json", "{\"id\": 1}\n"), "jsonl");
  EXPECT_EQ(format("a.json", "{\"data\": [\n]}"), "squad");
  EXPECT_EQ(format("a.jsonl", "{\"data\": [1], \"text\": \"x\"}\n"), "jsonl");
  EXPECT_EQ(format("a.conll", "text\tO\nlabel\tX\n"), "conll");
  EXPECT_FALSE(kind_of_file(write("a", "{broken\n")).sure);
  EXPECT_FALSE(kind_of_file(write("a", "{\"id\": 1}\n")).sure);
  EXPECT_EQ(kind_text(kind_of_file(write("a.csv", "x,y\n"))), "csv by name");
  EXPECT_EQ(kind_text(kind_of_file(write("a.txt", "text,y\n1,2\n"))), "csv by content");
  EXPECT_EQ(kind_text(kind_of_file(write("a", "x\n"))), "text");
  EXPECT_EQ(format_of_name("x/A.Csv.GZ"), "csv");
  EXPECT_EQ(format_of_name("a.csv.bgz"), "csv");
  EXPECT_EQ(TableOptions::of("A.TAB").separator, '\t');
}

TEST_F(FileKindTest, FieldsThatAFlagNamesAreLookedForToo) {
  const auto path = write("a.txt", "body,stars\nx,1\n");
  EXPECT_EQ(kind_of_file(path).format, "text");
  EXPECT_EQ(kind_of_file(path, {"", "body"}).format, "csv");
  EXPECT_EQ(kind_of_file(write("a.txt", "{\"body\": \"x\"}\n"), {"body"}).format, "jsonl");
  test::expect_error(ErrorKind::kArgument, {"a.txt", "'body'", "lines of text"},
                     [&] { texts_of(write("a.txt", "one\ntwo\n"), {.text_field = "body"}); });
}

TEST_F(FileKindTest, WhatIsNoTextIsOneError) {
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"PAR1\x15\x04\x15"s, "Parquet"},
      {"\x89PNG\r\n\x1A\n"s, "PNG"},
      {"%PDF-1.7\n"s, "PDF"},
      {"\x58\x02\0\0\0\0\0\0{\"layer.weight\":{\"dtype\":\"F32\"}}"s, "safetensors"},
      {"\x58\n\0\0\0\0\0\0{\"layer.weight\":{\"dtype\":\"F32\"}}"s, "safetensors"},  // a line end in its length
      {"\n\n\0\0\0\0\0\0{\"layer.weight\":{\"dtype\":\"F32\"}}"s, "safetensors"},
      {"RIFF\x24\x08\0\0WAVEfmt \x10\0\0\0"s, "WAV"},
      {"RIFF\x24\x08\0\0WEBPVP8 "s, "WebP"},
      {"GIF89a\x10\0\x10\0"s, "GIF"},
      {"GGUF\3\0\0\0"s, "llama.cpp"},
      {"SQLite format 3\0x"s, "SQLite"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"s, "Git LFS"},
      {"\xFF\xFE\0\0t\0\0\0"s, "UTF-32"},
      {"\0\0\xFE\xFF\0\0\0t"s, "UTF-32"},
      {test::utf16("text,label\nx,y\n", false), "UTF-16LE without a byte order mark"},
      {test::utf16("text,label\nx,y\n", true), "UTF-16BE without a byte order mark"},
      {test::utf16("na\xC3\xAFve \xF0\x9F\x98\x80 text\n", false), "UTF-16LE without a byte order mark"},
      {test::utf16("\xD0\xB4\xD0\xB0, \xD0\xB4\xD0\xB0\n", true), "UTF-16BE without a byte order mark"},
      {"\xFF\xFEt\0e"s, "half a character"},
      {"\xFF\xFE\0\xDCt\0"s, "half a character"},
      {"\xFE\xFF\xD8\0\0t"s, "half a character"},
  };
  for (const auto& [bytes, words] : cases) {
    for (const char* name : {"a.csv", "a.jsonl", "a.txt", "a"}) {
      const auto path = write(name, bytes);
      const std::string message = test::expect_error(ErrorKind::kFormat, {name, words}, [&] { texts_of(path); });
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      test::expect_error(ErrorKind::kFormat, {name, words}, [&] { read_whole_text(ByteSource::stream(path)); });
    }
  }
  test::expect_error(ErrorKind::kFormat, {"a.JSON'", "its name says JSON", "'Hello"},
                     [&] { format("a.JSON", "Hello\n"); });
}

TEST_F(FileKindTest, ZeroBytesAloneAreNoUtf16) {
  using namespace std::string_literals;
  for (const std::string& bytes : {"abc\0def\0ghi\0"s, "a\0hello world"s, "a\0"s, std::string(100, '\0')}) {
    EXPECT_EQ(format("a.txt", bytes), "text") << bytes;
  }
}

TEST_F(FileKindTest, ObjectsOfADocumentAreRecords) {
  const auto open = [&](const ReadOptions& options) {
    return std::make_unique<JsonDocumentReader>(folder_ / "a.json", options);
  };
  write("a.json", "[{\"a\": 1},\n 3,\n {\"a\": [\"}\", {}]}, {\"a\" 1}]\n");
  test::expect_malformed(open, {"a.json' line 2", "JSON object", "number"}, 2, 2);
  write("a.json", "{\"a\": 1} {\n\"a\": 2\n}\n[3]\n{\"a\": 3}");
  test::expect_malformed(open, {"a.json' line 4", "array"}, 1, 3);
  write("a.json", "[{\"a\": 1}, {\"a\":");
  test::expect_error(ErrorKind::kFormat, {"a.json' line 1", "ends within"}, [&] { test::all_records(*open({})); });
  write("a.json", "[{\"a\": 1}] x");
  test::expect_error(ErrorKind::kFormat, {"a.json' line 1", "end of the array"}, [&] { test::all_records(*open({})); });
  write("a.json", "");
  EXPECT_TRUE(test::all_records(*open({})).empty());
}

TEST_F(FileKindTest, ColumnsAreThoseOfTheFile) {
  EXPECT_EQ(columns_of(write("a.csv", "b,text\n1,2\n"), "csv", true), (Texts{"b", "text"}));
  EXPECT_EQ(columns_of(write("a.csv", "b,text\n1,2\n"), "csv", false), (Texts{"1", "2"}));
  EXPECT_EQ(columns_of(write("a.jsonl", "{\"b\": 1}\nx\n{\"text\": 2, \"b\": 3}\n"), "jsonl", true),
            (Texts{"b", "text"}));
  EXPECT_EQ(columns_of(write("a.txt", "b,text\n"), "text", true), Texts{});
  EXPECT_EQ(usual_column({"b", "review", "text"}, kTextFields), "text");
  EXPECT_EQ(usual_column({"b"}, kLabelFields), "");
  EXPECT_EQ(usual_column({"b", "Text"}, kTextFields), "Text");
  EXPECT_EQ(usual_column({"TEXT", "sentence"}, kTextFields), "sentence");  // whose letters are the same
  EXPECT_EQ(usual_field({{"id", 1}, {"Label", "a"}}, kLabelFields), "Label");
  EXPECT_EQ(usual_field({{"", 1}}, kLabelFields), "");
}

}  // namespace
}  // namespace weft::readers
