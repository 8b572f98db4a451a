// SPDX-License-Identifier: Apache-2.0
// The tokeniser's own limit gives way to the directory's, as in the library.
#include "weft/tasks/embedding/sentence_limits.h"

#include <algorithm>
#include <memory>

namespace weft::tasks {

void take_sentence_limits(TaskModel& model, const checkpoint::SentenceDirectory& sentence, std::int64_t max_length) {
  if (max_length == 0 && sentence.max_seq_length > 0) {
    model.maximum = std::min(sentence.max_seq_length, model.longest);
  }
  if (sentence.do_lower_case) {
    model.tokenizer = std::make_shared<text::HuggingFaceTokenizer>(sentence.transformer,
                                                                   text::TokenizerOptions{.lower_case_first = true});
    model.unknown = std::make_shared<text::UnknownTokens>(*model.tokenizer, model.name);
  }
}

}  // namespace weft::tasks
