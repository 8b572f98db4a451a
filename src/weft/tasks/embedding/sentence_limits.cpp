// SPDX-License-Identifier: Apache-2.0
// The tokeniser's own limit gives way to the directory's, as in the library.
#include "weft/tasks/embedding/sentence_limits.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "weft/core/error.h"

namespace weft::tasks {

void take_sentence_limits(TaskModel& model, const checkpoint::SentenceDirectory& sentence, std::int64_t max_length) {
  if (max_length == 0 && sentence.max_seq_length > 0) {
    model.maximum = std::min(sentence.max_seq_length, model.longest);
  }
  const std::int64_t special = std::ssize(model.tokenizer->encode_windows("").front().ids);
  if (model.maximum == sentence.max_seq_length && model.maximum <= special) {
    fail(ErrorKind::kFormat, model.name, ": max_seq_length must be more than the ", special,
         " special tokens around a text, found ", sentence.max_seq_length);
  }
  if (sentence.do_lower_case) {
    model.tokenizer = std::make_shared<text::HuggingFaceTokenizer>(sentence.transformer,
                                                                   text::TokenizerOptions{.lower_case_first = true});
    model.unknown = std::make_shared<text::UnknownTokens>(*model.tokenizer, model.name);
  }
}

}  // namespace weft::tasks
