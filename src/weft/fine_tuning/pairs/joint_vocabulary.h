// SPDX-License-Identifier: Apache-2.0
// What the first reading of the pairs gives: how many there are, and one vocabulary of both sides (Sennrich et al.
// 2016, section 3.2: names and words that both languages share are cut in the same way).
#pragma once

#include <memory>

#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/text/hugging_face.h"

namespace weft::fine_tuning {

/// Training pairs, those left out that are malformed and skipped. Errors: as PairReader.
std::int64_t count_pairs(const PairConfig& config);

/// The tokeniser that config.vocabulary and config.vocabulary_size make of the training pairs. The same in every
/// process. Errors: as PairReader and text::train_tokenizer; kIo where the system's folder for temporary files has no
/// room.
std::shared_ptr<const text::HuggingFaceTokenizer> learn_joint_vocabulary(const PairConfig& config);

}  // namespace weft::fine_tuning
