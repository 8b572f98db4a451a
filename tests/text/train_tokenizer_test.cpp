// SPDX-License-Identifier: Apache-2.0
// Vocabularies learned from text: every text comes back, special tokens are where they should be, errors cross the
// border of the crate.
#include "weft/text/train_tokenizer.h"

#include <fstream>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/rust_threads.h"
#include "support/temporary_directory.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

using TrainTokenizer = test::RustThreads;

// Gives `text` so many times.
std::function<bool(std::string&)> repeated(std::string text, int times) {
  return [text = std::move(text), times](std::string& next) mutable {
    next = text;
    return times-- > 0;
  };
}

std::unique_ptr<Tokenizer> trained(const TokenizerTraining& training, const std::string& text) {
  const test::TemporaryDirectory folder;
  std::ofstream(folder / "tokenizer.json") << train_tokenizer(training, repeated(text, 50));
  return load_tokenizer(folder.path());
}

TEST_F(TrainTokenizer, LearnsFromTextAndGivesEveryTextBack) {
  for (const bool unigram : {false, true}) {
    const auto tokenizer = trained({.unigram = unigram, .vocabulary_size = 300}, "the loom weaves the thread\n");
    EXPECT_LE(tokenizer->vocabulary_size(), 300);
    // A piece of the unigram model must be in two different words.
    EXPECT_LE(tokenizer->encode("the loom weaves the thread").size(), unigram ? 20U : 8U);
    for (const std::string text : {"the loom", "Ärger\t中文 \xF0\x9F\x99\x82\n", " two  spaces "}) {
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    }
  }
}

TEST_F(TrainTokenizer, ReadsGenomesInUpperCaseAndAcrossWords) {
  const auto tokenizer = trained({.dna = true, .vocabulary_size = 290}, "ACGTTGCAACGTTGCA\n");
  EXPECT_LE(tokenizer->encode("ACGTTGCAACGTTGCA").size(), 2U);
  EXPECT_EQ(tokenizer->encode("acgttgca"), tokenizer->encode("ACGTTGCA"));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ACGT\nTTN")), "ACGT\nTTN");
}

TEST_F(TrainTokenizer, LearnsTheSameFromTheSameText) {
  const TokenizerTraining training{.vocabulary_size = 320};
  const std::string text = "she sells sea shells by the sea shore, surely she sells shells\n";
  EXPECT_EQ(train_tokenizer(training, repeated(text, 30)), train_tokenizer(training, repeated(text, 30)));
}

TEST_F(TrainTokenizer, RefusesWhatCannotBeLearned) {
  test::expect_error(ErrorKind::kArgument, {"261", "found 100"},
                     [] { train_tokenizer({.vocabulary_size = 100}, repeated("x", 1)); });
  test::expect_error(ErrorKind::kArgument, {"text", "none"}, [] { train_tokenizer({}, repeated("x", 0)); });
  test::expect_error(ErrorKind::kIo, {"the disk"}, [] {
    train_tokenizer({}, [](std::string&) -> bool { fail(ErrorKind::kIo, "the disk is gone"); });
  });
}

}  // namespace
}  // namespace weft::text
