// SPDX-License-Identifier: Apache-2.0
// Text from ids that arrive one at a time, for generation: a character whose bytes are not all there yet is held back,
// and the pieces joined are what decode() says of all ids at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::text {

class StreamDecoder {
 public:
  /// `tokenizer` must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The text that `id` completes; often one word, sometimes nothing.
  std::string push(std::int64_t id);
  /// What is still held back, as decode() gives it. The decoder is as new afterwards.
  std::string finish();

 private:
  void shorten_window(std::size_t tail);

  const Tokenizer& tokenizer_;
  std::vector<std::int64_t> window_;  // ids from the last finished one on
  std::size_t emitted_ = 0;           // bytes of decode(window_) already handed out
};

}  // namespace weft::text
