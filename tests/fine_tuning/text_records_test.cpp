// SPDX-License-Identifier: Apache-2.0
// Every format gives the same records; what is malformed is named by file and line, or skipped and counted.
#include "weft/fine_tuning/text_records.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "readers/encodings.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/fine_tuning/record_fields.h"
#include "weft/fine_tuning/record_reading.h"

namespace weft::fine_tuning {
namespace {

class TextRecords : public ::testing::Test {
 protected:
  // "text|pair>label,label" of each record; absent labels behind a "!".
  std::vector<std::string> read(const std::vector<std::string>& paths, LabelCount count = LabelCount::kOne) {
    std::vector<std::string> found;
    report_ = read_text_records(paths, settings_, count, [&](const TextRecord& record) {
      std::string line = record.document.first + (record.document.second ? "|" + *record.document.second : "") + ">";
      for (const std::string& label : record.labels) {
        line += label + ",";
      }
      for (const std::string& label : record.absent) {
        line += "!" + label + ",";
      }
      found.push_back(line);
    });
    return found;
  }
  std::string write(const std::string& name, const std::string& content) {
    test::write_text(folder_ / name, content);
    return (folder_ / name).string();
  }

  test::TemporaryDirectory folder_;
  DataSettings settings_;
  readers::ReadReport report_;
};

using Lines = std::vector<std::string>;

TEST_F(TextRecords, TablesByUsualAndByGivenNames) {
  const Lines both = {"good film>1,", "bad film>0,"};
  EXPECT_EQ(read({write("a.tsv", "sentence\tlabel\ngood film\t1\nbad film\t0\n")}), both);
  EXPECT_EQ(read({write("a.csv", "label,text\n1,good film\n0,\"bad film\"\n")}), both);
  settings_.text_field = "premise";
  settings_.pair_field = "hypothesis";
  settings_.label_field = {"gold"};
  EXPECT_EQ(read({write("b.csv", "premise,hypothesis,gold\na,b,yes\n")}), Lines{"a|b>yes,"});
  settings_.header = false;
  settings_.text_field = "2";
  settings_.pair_field.clear();
  settings_.label_field = {"1"};
  EXPECT_EQ(read({write("c.tsv", "yes\tsome text\n")}), Lines{"some text>yes,"});
}

TEST_F(TextRecords, ColumnsThatAreNotThereAreNamed) {
  const std::string file = write("a.csv", "one,two\nx,y\n");
  test::expect_error(ErrorKind::kArgument, {"a.csv", "text_field", "'one', 'two'"}, [&] { read({file}); });
  settings_.text_field = "one";
  test::expect_error(ErrorKind::kArgument, {"a.csv", "label_field"}, [&] { read({file}); });
  settings_.label_field = {"three"};
  test::expect_error(ErrorKind::kArgument, {"a.csv", "label_field", "'two'"}, [&] { read({file}); });
  settings_.label_field = {"*"};
  test::expect_error(ErrorKind::kArgument, {"one label", "2 columns", "multilabel"}, [&] { read({file}); });
}

TEST_F(TextRecords, JsonLines) {
  EXPECT_EQ(read({write("a.jsonl",
                        "{\"text\": \"a\", \"label\": 3}\n{\"text\": \"b\", \"label\": true}\n"
                        "{\"text\": \"c\", \"label\": \"x\"}\n")}),
            (Lines{"a>3,", "b>true,", "c>x,"}));
  const std::string lists = write("b.jsonl",
                                  "{\"text\": \"a\", \"labels\": [\"x\", \"y\"]}\n"
                                  "{\"text\": \"b\", \"labels\": [0, 1]}\n{\"text\": \"c\", \"labels\": []}\n");
  EXPECT_EQ(read({lists}, LabelCount::kSeveral), (Lines{"a>x,y,", "b>1,!0,", "c>"}));
  test::expect_error(ErrorKind::kFormat, {"b.jsonl' line 1", "string", "array"}, [&] { read({lists}); });
}

TEST_F(TextRecords, SeveralLabelsInTables) {
  settings_.label_field = {"tags"};
  EXPECT_EQ(read({write("a.tsv", "text\ttags\na\tx, y z\nb\t\n")}, LabelCount::kSeveral), (Lines{"a>x,y z,", "b>"}));
  settings_.label_field = {"p_*"};
  EXPECT_EQ(read({write("b.csv", "text,p_1,other,p_2\na,1,7,0\n")}, LabelCount::kSeveral), Lines{"a>p_1,!p_2,"});
}

TEST_F(TextRecords, FoldersAndFilesOfAClass) {
  write("reviews/neg/1.txt", "dull\n");
  write("reviews/pos/1.txt", "bright\n");
  EXPECT_EQ(read({(folder_ / "reviews").string()}), (Lines{"dull\n>neg,", "bright\n>pos,"}));
  EXPECT_EQ(read({(folder_ / "reviews/neg/").string(), (folder_ / "reviews/pos").string()}),
            (Lines{"dull\n>neg,", "bright\n>pos,"}));
  write("reviews/README", "what this is\n");
  test::expect_error(ErrorKind::kFormat, {"README", "LABEL=PATH"}, [&] { read({(folder_ / "reviews").string()}); });
  settings_.on_error = "skip";
  EXPECT_EQ(read({(folder_ / "reviews/").string()}).size(), 2U);
  EXPECT_EQ(report_.skipped, 1);
  const std::string promoters = write("tata.fa", ">one\nACGT\nAC\n>two\nGG\n");
  EXPECT_EQ(read({promoters}), (Lines{"ACGTAC>tata,", "GG>tata,"}));
  EXPECT_EQ(read({"1=" + promoters}), (Lines{"ACGTAC>1,", "GG>1,"}));
  settings_.format = "lines";
  EXPECT_EQ(read({"x=" + write("lines.txt", "a\nb\n")}), (Lines{"a>x,", "b>x,"}));
  const std::string odd = write("a=b.txt", "c\n");
  EXPECT_FALSE(parse_data_path(odd).labelled);
}

TEST_F(TextRecords, SkipsWhatIsMalformedAndCountsIt) {
  const std::string file = write("a.jsonl",
                                 "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}\nno json\n"
                                 "{\"label\": 1}\n{\"text\": \"c\", \"label\": 0}\n");
  test::expect_error(ErrorKind::kFormat, {"a.jsonl' line 2", "label"}, [&] { read({file}); });
  settings_.on_error = "skip";
  EXPECT_EQ(read({file}), (Lines{"a>1,", "c>0,"}));
  EXPECT_EQ(report_.records, 2);
  EXPECT_EQ(report_.skipped, 3);
  EXPECT_NE(report_.first_skipped.find("line 2"), std::string::npos);
  EXPECT_EQ(read({write("b.tsv", "text\tlabel\na\t\nb\t1\n")}), Lines{"b>1,"});
}

TEST_F(TextRecords, WhatATaskDoesNotReadIsNamed) {
  const auto kind = [&](const std::string& name, const std::string& content, std::string_view known) {
    return kind_for(write(name, content), settings_, known).format;
  };
  const std::string table = "text,label\na,1\n";
  EXPECT_EQ(kind("words.tsv", "the\tO\nloom\tB-X\n", "conll"), "conll");
  EXPECT_EQ(kind("words.tsv", "the\tNN\n", "conll"), "conll");  // whose reader says what is wrong
  EXPECT_EQ(kind("words", "the NN\n", "conll"), "conll");
  EXPECT_EQ(kind("dev.txt", "{\"data\": [{\"paragraphs\": []}]}", "squad"), "squad");
  EXPECT_EQ(kind("a.JSON", "[{\"prompt\": \"a\"}]", "jsonl json"), "json");
  EXPECT_EQ(kind("a", "{broken\n", "jsonl json"), "jsonl");
  for (const std::string_view known : {"conll", "squad", "jsonl json"}) {
    test::expect_error(ErrorKind::kFormat, {"a.txt'", "is csv by content", known},
                       [&] { kind("a.txt", table, known); });
  }
  test::expect_error(ErrorKind::kFormat, {"a.jsonl'", "is jsonl", "conll"}, [&] { kind("a.jsonl", "{x\n", "conll"); });
  settings_.format = "conll";
  EXPECT_EQ(kind("a.txt", table, "conll"), "conll");
  test::expect_error(ErrorKind::kFormat, {"a.txt'", "Parquet"}, [&] { kind("a.txt", "PAR1", "conll"); });
}

TEST_F(TextRecords, ContentsTellTheFormatThenNames) {
  const Lines both = {"good film>1,", "bad film>0,"};
  const std::vector<std::string> forms = {
      "text,label\ngood film,1\nbad film,0\n", "label\ttext\n1\tgood film\n0\tbad film\n",
      "{\"text\": \"good film\", \"label\": 1}\n{\"text\": \"bad film\", \"label\": 0}\n",
      "[{\"text\": \"good film\", \"label\": 1},\n{\"text\": \"bad film\", \"label\": 0}]\n"};
  for (const std::string& form : forms) {
    for (const char* name : {"a.csv", "A.CSV", "a.JSONL", "a.json", "a.txt", "a"}) {
      for (int encoding = 0; encoding < test::kEncodings; ++encoding) {
        EXPECT_EQ(read({write(name, test::encoded(form, encoding))}), both) << name << ": " << form;
      }
    }
  }
  EXPECT_EQ(report_.kinds, (std::map<std::string, std::int64_t>{{"json by content", 1}}));
  settings_.text_field = "body";
  settings_.label_field = {"stars"};
  EXPECT_EQ(read({write("B.CSV", "stars,body\n5,fine\n")}), Lines{"fine>5,"});
  EXPECT_EQ(read({write("b", "stars,body\n5,fine\n")}), Lines{"fine>5,"});
  test::expect_error(ErrorKind::kFormat, {"words", "conll by content", "expected for this task: text csv"},
                     [&] { read({write("words", "the O\nloom B-X\n\nwe O\nsee O\n")}); });
  test::expect_error(ErrorKind::kFormat, {"a.json'", "its name says JSON"},
                     [&] { read({write("a.json", "prose\n")}); });
  EXPECT_EQ(first_stem("d/tata.fa.gz"), "tata");
}

}  // namespace
}  // namespace weft::fine_tuning
