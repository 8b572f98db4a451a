// SPDX-License-Identifier: Apache-2.0
// Documents of a sequence: nothing lost, nothing twice, lengths within the paper's ranges, cuts that differ.
#include "weft/readers/genome_documents.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/core/random.h"

namespace weft::readers {
namespace {

std::string random_sequence(std::size_t bases) {
  std::string sequence;
  for (std::size_t i = 0; i < bases; ++i) {
    sequence += "acgtACGTN"[random_below(random_bits(8, i), 9)];
  }
  return sequence;
}

std::vector<std::string> documents_of(const std::string& sequence, const GenomeDocumentOptions& options) {
  std::vector<std::string> documents;
  cut_genome(sequence, 0, options, [&](const std::string& document) { documents.push_back(document); });
  return documents;
}

TEST(GenomeDocuments, CoverTheSequenceOnceACut) {
  const std::string sequence = random_sequence(300000);
  const auto documents = documents_of(sequence, {.copies = 2});
  std::string joined;
  std::int64_t short_ones = 0;
  for (const std::string& document : documents) {
    std::istringstream lines(document);
    std::int64_t sentences = 0;
    for (std::string sentence; std::getline(lines, sentence); ++sentences) {
      EXPECT_LE(sentence.size(), 1000U);
      short_ones += sentence.size() < 500 ? 1 : 0;
      joined += sentence;
    }
    EXPECT_LE(sentences, 100);
    short_ones += sentences < 50 ? 1 : 0;
  }
  EXPECT_LE(short_ones, 4) << "only the ends of the two cuts";
  std::string twice = sequence + sequence;
  std::transform(twice.begin(), twice.end(), twice.begin(),
                 [](char base) { return static_cast<char>(std::toupper(base)); });
  EXPECT_EQ(joined, twice);
}

TEST(GenomeDocuments, GapsOfAnAssemblyAreLeftOut) {
  std::string sequence = random_sequence(5000) + std::string(60000, 'N') + random_sequence(5000);
  std::string joined;
  const std::int64_t left_out =
      cut_genome(sequence, 0, {.copies = 1}, [&](const std::string& document) { joined += document; });
  const auto unknown = std::count(joined.begin(), joined.end(), 'N');
  EXPECT_GE(left_out, 58000);
  EXPECT_LE(left_out, 61000);
  EXPECT_LT(unknown, 3000);  // those of the sequences, and the ends of the gap
  EXPECT_EQ(left_out + std::ssize(joined) - std::count(joined.begin(), joined.end(), '\n'), std::ssize(sequence));
  EXPECT_EQ(cut_genome(std::string(5000, 'n'), 0, {.copies = 3}, [](const std::string&) { FAIL(); }), 15000);
}

TEST(GenomeDocuments, AreAFunctionOfTheSeed) {
  const std::string sequence = random_sequence(200000);
  const auto first = documents_of(sequence, {.copies = 1, .seed = 1});
  EXPECT_EQ(first, documents_of(sequence, {.copies = 1, .seed = 1}));
  EXPECT_NE(first, documents_of(sequence, {.copies = 1, .seed = 2}));
  EXPECT_TRUE(documents_of("", {}).empty());
  test::expect_error(ErrorKind::kArgument, {"500 to 10"}, [] { documents_of("A", {.longest_sentence = 10}); });
}

}  // namespace
}  // namespace weft::readers
