// SPDX-License-Identifier: Apache-2.0
// Any bytes as questions over many documents, in each of the four formats: one-line errors, and what is read whole
// holds what the format promises.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fuzz/support/memory_file.h"
#include "weft/readers/open_answers/hotpot_reader.h"
#include "weft/readers/open_answers/natural_questions_reader.h"
#include "weft/readers/open_answers/trivia_reader.h"
#include "weft/readers/open_answers/wikihop_reader.h"

namespace {

template <typename ReaderType>
void check_both_parts(const weft::fuzz::MemoryFile& file) {
  using weft::readers::QuestionPart;
  for (const QuestionPart part : {QuestionPart::kGold, QuestionPart::kWhole}) {
    weft::fuzz::check_reader([&](const weft::readers::ReadOptions& options) {
      return std::make_unique<ReaderType>(file.path(), options, part);
    });
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::fuzz::MemoryFile file(data, size);
  check_both_parts<weft::readers::HotpotReader>(file);
  check_both_parts<weft::readers::TriviaReader>(file);
  check_both_parts<weft::readers::NaturalQuestionsReader>(file);
  check_both_parts<weft::readers::WikiHopReader>(file);
  return 0;
}
