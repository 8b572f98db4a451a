// SPDX-License-Identifier: Apache-2.0
// The other strand: base by base, back again to the first, words of bases, and letters that are no base.
#include "weft/readers/genomes/reverse_complement.h"

#include <string>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::readers {
namespace {

TEST(ReverseComplement, ReadsTheOtherStrandFromItsEnd) {
  EXPECT_EQ(reverse_complement("AACG", "x"), "CGTT");
  EXPECT_EQ(reverse_complement("acgtN", "x"), "Nacgt");
  EXPECT_EQ(reverse_complement("RYKMBVDHSW", "x"), "WSDHBVKMRY");
  EXPECT_EQ(reverse_complement("", "x"), "");
}

TEST(ReverseComplement, WordsOfBasesAreThoseOfTheOtherStrand) {
  // Overlapping words of three of ACGTT, and those of AACGT.
  EXPECT_EQ(reverse_complement("ACG CGT GTT", "x"), "AAC ACG CGT");
  EXPECT_EQ(reverse_complement("AC-G\nT\n", "x"), "\nA\nC-GT");
}

TEST(ReverseComplement, TwiceIsTheSequence) {
  const std::string letters = "ACGTRYKMBVDHSWNacgtrykmbvdhswn- \t\r\n";
  EXPECT_EQ(reverse_complement(reverse_complement(letters, "x"), "x"), letters);
}

TEST(ReverseComplement, RefusesWhatIsNoBase) {
  for (const char* text : {"ACGU", "ACG*", "hello", "AC\xc3\xa4"}) {
    test::expect_error(ErrorKind::kFormat, {"'a.fa' line 3", "DNA", "expected letters"},
                       [&] { reverse_complement(text, "'a.fa' line 3"); });
  }
  test::expect_error(ErrorKind::kFormat, {"found 'E'"}, [&] { reverse_complement("HELLO", "x"); });
}

}  // namespace
}  // namespace weft::readers
