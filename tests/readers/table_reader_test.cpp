// SPDX-License-Identifier: Apache-2.0
// RFC 4180's rules, tabs without quotes, and every way a row can be malformed.
#include "weft/readers/table_reader.h"

#include <memory>

#include <gtest/gtest.h>

#include "readers/reading.h"

namespace weft::readers {
namespace {

using Fields = std::vector<std::string>;

std::vector<TableRow> rows_of(const std::string& text, const TableOptions& table) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "t", text);
  TableReader reader(folder / "t", table);
  return test::all_records(reader);
}

TEST(TableReader, ReadsQuotedFields) {
  const auto rows = rows_of("text,label\r\n\"a \"\"b\"\", c\nd\",1\n\n ab\"c ,2\r\n,\n\"\",\"\"", {});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].fields, (Fields{"a \"b\", c\nd", "1"}));
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(rows[1].fields, (Fields{" ab\"c ", "2"}));
  EXPECT_EQ(rows[1].line, 5);
  EXPECT_EQ(rows[2].fields, (Fields{"", ""}));
  EXPECT_EQ(rows[3].fields, (Fields{"", ""}));
}

TEST(TableReader, TabsKnowNoQuotes) {
  EXPECT_EQ(TableOptions::of("a/train.tsv.gz").separator, '\t');
  EXPECT_FALSE(TableOptions::of("train.tsv").quotes);
  EXPECT_TRUE(TableOptions::of("train.csv").quotes);
  const auto rows = rows_of("sentence\tlabel\n\" said he\t1\n`` a , b ''\t0\n", TableOptions::of("x.tsv"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].fields, (Fields{"\" said he", "1"}));
  EXPECT_EQ(rows[1].fields, (Fields{"`` a , b ''", "0"}));
}

TEST(TableReader, FindsColumnsByName) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "t.csv", "id,text\n1,x\n");
  const TableReader reader(folder / "t.csv", {});
  EXPECT_EQ(reader.column("text"), 1U);
  test::expect_error(ErrorKind::kArgument, {"t.csv", "'label'", "'id', 'text'"}, [&] { (void)reader.column("label"); });
  test::write_text(folder / "bare.csv", "1,x\n2,y\n");
  TableReader bare(folder / "bare.csv", {.header = false});
  EXPECT_EQ(test::all_records(bare).size(), 2U);
  EXPECT_EQ(bare.columns(), (Fields{"1", "2"}));
  test::write_text(folder / "broken.csv", "a,\xff\n1,2\n");
  test::expect_error(ErrorKind::kFormat, {"broken.csv' line 1", "UTF-8"},
                     [&] { const TableReader none(folder / "broken.csv", {}, {.skip_malformed = true}); });
  test::write_text(folder / "empty.csv", "");
  test::expect_error(ErrorKind::kFormat, {"empty.csv", "columns"}, [&] { TableReader none(folder / "empty.csv", {}); });
}

TEST(TableReader, MalformedRowsNameTheirLine) {
  const test::TemporaryDirectory folder;
  const auto open = [&](const ReadOptions& options) {
    return std::make_unique<TableReader>(folder / "t.csv", TableOptions{}, options);
  };
  test::write_text(folder / "t.csv", "a,b\n1,2\n1\n1,2,3\n3,4\n");
  test::expect_malformed(open, {"t.csv' line 3", "2 fields", "found 1"}, 2, 2);
  test::write_text(folder / "t.csv", "a,b\n1,\"x\"y,z\n3,4\n");
  test::expect_malformed(open, {"line 2", "behind the closing quote"}, 1, 1);
  test::write_text(folder / "t.csv", "a,b\n1,2\n3,\"open\n\n4,5\n");
  test::expect_malformed(open, {"line 3", "has no end"}, 1, 1);
  test::write_text(folder / "t.csv", "a,b\n1,\xff\n3,4\n");
  test::expect_malformed(open, {"line 2", "UTF-8"}, 1, 1);
}

}  // namespace
}  // namespace weft::readers
