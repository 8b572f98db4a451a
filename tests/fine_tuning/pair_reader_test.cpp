// SPDX-License-Identifier: Apache-2.0
// Pairs out of every form of file, and what is wrong with those that make none.
#include "weft/fine_tuning/pairs/pair_reader.h"

#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "readers/encodings.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace weft::fine_tuning {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

class PairReaderTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) const {
    test::write_text(folder_ / name, content);
    return (folder_ / name).string();
  }
  PairConfig aligned(const std::string& sources, const std::string& targets) const {
    PairConfig config;
    config.train_source = {file("a.de", sources)};
    config.train_target = {file("a.en", targets)};
    return config;
  }
  PairConfig data(const std::string& name, const std::string& content) const {
    PairConfig config;
    config.train_data = {file(name, content)};
    return config;
  }
  static Pairs read(const PairConfig& config, std::int64_t* skipped = nullptr) {
    PairReader reader(config, false);
    Pairs pairs;
    for (TextPair pair; reader.next(pair);) {
      pairs.emplace_back(pair.source, pair.target);
    }
    if (skipped != nullptr) {
      *skipped = reader.report().skipped;
    }
    return pairs;
  }

  test::TemporaryDirectory folder_;
};

const Pairs kTwo = {{"ein Haus", "a house"}, {"zwei, drei", "two \"three\""}};

TEST_F(PairReaderTest, FilesAreWhatStandsInThem) {
  const std::string array =
      "[{\"source\": \"ein Haus\", \"target\": \"a house\"},\n"
      " {\"source\": \"zwei, drei\", \"target\": \"two \\\"three\\\"\"}]\n";
  const std::string table = "src\ttgt\nein Haus\ta house\nzwei, drei\ttwo \"three\"\n";
  for (const char* name : {"a.json", "A.JSON", "a.csv", "a.txt", "a"}) {
    for (int encoding = 0; encoding < test::kEncodings; ++encoding) {
      EXPECT_EQ(read(data(name, test::encoded(array, encoding))), kTwo) << name;
      EXPECT_EQ(read(data(name, test::encoded(table, encoding))), kTwo) << name;
    }
  }
  EXPECT_EQ(read(aligned(test::encoded("ein Haus\nzwei, drei\n", 2), test::encoded("a house\ntwo \"three\"\n", 1))),
            kTwo);
  test::expect_error(ErrorKind::kFormat, {"a.de", "UTF-16LE without a byte order mark"},
                     [&] { read(aligned(test::utf16("ein Haus\n", false), "a house\n")); });
  PairReader reader(data("a.txt", table), false);
  EXPECT_EQ(reader.report().kinds, (std::map<std::string, std::int64_t>{{"tsv by content", 1}}));
}

TEST_F(PairReaderTest, EveryForm) {
  EXPECT_EQ(read(aligned("ein Haus\nzwei, drei\n", "a house\r\ntwo \"three\"")), kTwo);
  EXPECT_EQ(read(data("a.tsv", "one\tother\nein Haus\ta house\nzwei, drei\ttwo \"three\"\n")), kTwo);
  EXPECT_EQ(read(data("b.tsv", "id\ttarget\tsource\n1\ta house\tein Haus\n2\ttwo \"three\"\tzwei, drei\n")), kTwo);
  EXPECT_EQ(read(data("a.csv", "document,summary\nein Haus,a house\n\"zwei, drei\",\"two \"\"three\"\"\"\n")), kTwo);
  EXPECT_EQ(read(data("a.jsonl",
                      "{\"text\": \"ein Haus\", \"summary\": \"a house\"}\n"
                      "{\"text\": \"zwei, drei\", \"summary\": \"two \\\"three\\\"\"}\n")),
            kTwo);
  PairConfig named = data("c.tsv", "ein Haus\ta house\tx\nzwei, drei\ttwo \"three\"\ty\n");
  named.header = false;
  named.source_field = "1";
  named.target_field = "2";
  EXPECT_EQ(read(named), kTwo);
  PairConfig several = aligned("ein Haus\n", "a house\n");
  several.train_source.push_back(file("b.de", "zwei, drei\n"));
  several.train_target.push_back(file("b.en", "two \"three\"\n"));
  EXPECT_EQ(read(several), kTwo);
}

TEST_F(PairReaderTest, MalformedPairsAreErrorsOrSkipped) {
  PairConfig config = aligned("ein Haus\n \nzwei, drei\n\xff\nvier\n", "a house\nblank\ntwo \"three\"\nbytes\n\n");
  test::expect_error(ErrorKind::kFormat, {"a.de", "line 2", "source is empty"}, [&] { read(config); });
  config.on_error = "skip";
  std::int64_t skipped = 0;
  EXPECT_EQ(read(config, &skipped), kTwo);
  EXPECT_EQ(skipped, 3);
}

TEST_F(PairReaderTest, AlignmentsBelongToTheirPairs) {
  PairConfig config = aligned("ein Haus\nzwei, drei\nvier\n", "a house\ntwo \"three\"\nfour\n");
  config.alignments = {file("a.pharaoh", "1-1 0-0\n\n0p0")};
  const auto links = [](const PairConfig& given, bool held_out = false) {
    PairReader reader(given, held_out);
    std::string text;
    for (TextPair pair; reader.next(pair);) {
      text += pair.links ? metrics::pharaoh_text(*pair.links) + "/" : "none/";
      pair = {};
    }
    return text;
  };
  EXPECT_EQ(links(config), "0-0 1-1//0-0/");
  config.eval_source = config.train_source;
  config.eval_target = config.train_target;
  EXPECT_EQ(links(config, true), "none/none/none/");
  PairConfig table = data("a.csv", "source,target,alignment\nein Haus,a house,0-1\n");
  EXPECT_EQ(links(table), "none/");
  table.alignment_field = "alignment";
  EXPECT_EQ(links(table), "0-1/");
  PairConfig lines = data("a.jsonl", "{\"source\": \"ein\", \"target\": \"a\", \"alignment\": \"0-0\"}\n");
  lines.alignment_field = "alignment";
  EXPECT_EQ(links(lines), "0-0/");
  config.alignments = {file("a.pharaoh", "0-0\n0-2\nx\n")};
  test::expect_error(ErrorKind::kFormat, {"a.pharaoh", "line 2", "word 0 to word 2", "2 and 2"},
                     [&] { links(config); });
  config.on_error = "skip";
  EXPECT_EQ(links(config), "0-0/");
  config.alignments = {file("a.pharaoh", "0-0\n")};
  test::expect_error(ErrorKind::kFormat, {"a.pharaoh", "ends before line 2", "a.de"}, [&] { links(config); });
  config.alignments.push_back(config.alignments.front());
  test::expect_error(ErrorKind::kArgument, {"alignments as of sources", "found 2 in", "and 1 in"},
                     [&] { links(config); });
}

TEST_F(PairReaderTest, FilesThatMakeNoPairs) {
  PairConfig config = aligned("eins\nzwei\ndrei\n", "one\ntwo\n");
  config.on_error = "skip";
  test::expect_error(ErrorKind::kFormat, {"a.en", "ends before line 3", "a.de"}, [&] { read(config); });
  config.train_target.push_back(config.train_target.front());
  test::expect_error(ErrorKind::kArgument, {"as many", "found 2 in", "and 1 in"}, [&] { read(config); });
  test::expect_error(ErrorKind::kFormat, {"a.txt", ".tsv"}, [&] { read(data("a.txt", "x")); });
  test::expect_error(ErrorKind::kArgument, {"source", "'id', 'other', 'third'"},
                     [&] { read(data("d.tsv", "id\tother\tthird\n1\t2\t3\n")); });
}

}  // namespace
}  // namespace weft::fine_tuning
