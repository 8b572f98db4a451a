// SPDX-License-Identifier: Apache-2.0
// A source and a target as an encoder-decoder learns from them: for what watches a model read, not write.
#pragma once

#include <cstdint>

#include "weft/models/encoder_decoder.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/sequences/writer.h"

namespace weft::tasks {

/// The ids of a pair, with the special tokens that the family puts around each text.
struct TaughtPair {
  Ids source;
  /// What the decoder reads: the target one step later, behind its first token and without its last.
  Ids target;
};

struct TaughtPairRule {
  std::int64_t start = 0;  ///< the decoder's first token
  bool truncate = false;   ///< cut what is longer than the model reads, instead of an error
  std::string hint = {};   ///< what to do about such an error
};

/// document.first is the source, document.second the target. Errors: kArgument naming the document, for a text that is
/// too long or that the tokeniser makes nothing of; kFormat for an id that the model has no row for.
TaughtPair taught_pair(const SequenceModel& texts, const models::EncoderDecoderConfig& config, const Document& document,
                       const TaughtPairRule& rule);

}  // namespace weft::tasks
