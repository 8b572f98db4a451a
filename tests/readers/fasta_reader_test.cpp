// SPDX-License-Identifier: Apache-2.0
// FASTA, plain and gzip, and records that are none.
#include "weft/readers/fasta_reader.h"

#include <memory>

#include <gtest/gtest.h>

#include "readers/reading.h"

namespace weft::readers {
namespace {

TEST(FastaReader, JoinsTheLinesOfASequence) {
  const test::TemporaryDirectory folder;
  const std::string text = ";old comment\n\n>chr1 first  one\nACGT \nacgtN\n;inside\n\n-*\n> 6400\nTT\n>\nG";
  test::write_text(folder / "a.fa", text);
  test::append_gzip(folder / "b.fa.gz", text);
  for (const char* name : {"a.fa", "b.fa.gz"}) {
    FastaReader reader(folder / name);
    const auto records = test::all_records(reader);
    ASSERT_EQ(records.size(), 3U);
    EXPECT_EQ(records[0].name, "chr1");
    EXPECT_EQ(records[0].description, "first  one");
    EXPECT_EQ(records[0].sequence, "ACGTacgtN-*");
    EXPECT_EQ(records[0].line, 3);
    EXPECT_EQ(records[1].name, "6400");
    EXPECT_EQ(records[2].name, "");
    EXPECT_EQ(records[2].sequence, "G");
  }
}

TEST(FastaReader, AMalformedRecordEndsAtTheNextHeader) {
  const test::TemporaryDirectory folder;
  const auto open = [&](const ReadOptions& options) { return std::make_unique<FastaReader>(folder / "a.fa", options); };
  test::write_text(folder / "a.fa", ">a\nACGT\n>b\nAC GT\nAAA\n>c\n\n>d\nT\n>e\nAC\x01\n");
  test::expect_malformed(open, {"a.fa' line 4", "found ' '", "column 3"}, 3, 2);
  test::write_text(folder / "a.fa", "ACGT\nAAA\n>d\nT\n");
  test::expect_malformed(open, {"line 1", "header", "'ACGT'"}, 1, 1);
  test::write_text(folder / "a.fa", ">d\nT\n>e");
  test::expect_malformed(open, {"line 3", "'e'", "no sequence"}, 1, 1);
  test::write_text(folder / "a.fa", ">d \xff\nT\n>e\nA\n");
  test::expect_malformed(open, {"line 1", "UTF-8"}, 1, 1);
}

TEST(FastaReader, ASequenceHasALimit) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a.fa", ">a\n" + std::string(5000, 'A') + "\n");
  test::expect_error(ErrorKind::kFormat, {"at most 1000"}, [&] {
    FastaReader reader(folder / "a.fa", {.max_record_bytes = 1000});
    test::all_records(reader);
  });
}

}  // namespace
}  // namespace weft::readers
