// SPDX-License-Identifier: Apache-2.0
// A text is nothing but text here (encode_plain), as in training: special tokens that are written in it are letters.
#include "weft/tasks/sequences/taught_pair.h"

#include <algorithm>
#include <string>

#include "weft/core/error.h"
#include "weft/tasks/sequences/languages.h"
#include "weft/tasks/text_too_long.h"

namespace weft::tasks {
namespace {

// What one side of a model takes.
struct Reader {
  text::Side side;
  std::int64_t rows;     // of the embedding
  std::int64_t longest;  // tokens
};

Ids framed_ids(const SequenceModel& texts, const std::string& name, const std::string& text, const Reader& reader,
               const TaughtPairRule& rule) {
  Ids ids;
  try {
    ids = texts.tokenizer->encode_plain(text, reader.side);
    if (texts.right_to_left && reader.side == text::Side::kTarget) {
      std::reverse(ids.begin(), ids.end());
    }
    ids = texts.tokenizer->frame().around(ids);
  } catch (const Error& error) {
    throw Error(error.kind(), concat(name, ": ", error.what()), error.hint());
  }
  texts.tokenizer->check_rows(ids, reader.side, reader.rows, texts.name);
  require(!ids.empty(), name, ": the tokeniser of ", texts.name, " makes nothing of an empty text");
  if (std::ssize(ids) > reader.longest && rule.truncate) {
    ids.resize(static_cast<std::size_t>(reader.longest));
  }
  if (std::ssize(ids) > reader.longest) {
    throw TextTooLong(concat(name, ": the ", reader.side == text::Side::kSource ? "source" : "target", " has ",
                             ids.size(), " tokens, but ", texts.name, " reads ", reader.longest),
                      rule.hint);
  }
  return ids;
}

}  // namespace

TaughtPair taught_pair(const SequenceModel& texts, const models::EncoderDecoderConfig& config, const Document& document,
                       const TaughtPairRule& rule) {
  check_own_code(texts, document.first, document.name);
  TaughtPair pair;
  pair.source =
      framed_ids(texts, document.name, document.first, {text::Side::kSource, config.vocab_size, texts.longest}, rule);
  pair.target = framed_ids(texts, document.name, document.second.value_or(""),
                           {text::Side::kTarget, config.target_vocab_size(), config.max_target_positions}, rule);
  pair.target.insert(pair.target.begin(), rule.start);
  pair.target.pop_back();
  return pair;
}

}  // namespace weft::tasks
