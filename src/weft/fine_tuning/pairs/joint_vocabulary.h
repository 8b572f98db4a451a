// SPDX-License-Identifier: Apache-2.0
// One vocabulary of both sides (Sennrich et al. 2016, section 3.2: names and words that both languages share are cut in
// the same way).
#pragma once

#include <memory>

#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/pairs/pair_texts.h"
#include "weft/text/hugging_face.h"

namespace weft::fine_tuning {

/// The tokeniser that config.vocabulary and config.vocabulary_size make of the training pairs. The same in every
/// process. Errors: as PairTexts and text::train_tokenizer; kIo where the system's folder for temporary files has no
/// room.
std::shared_ptr<const text::HuggingFaceTokenizer> learn_joint_vocabulary(const PairConfig& config, PairTexts& texts);

}  // namespace weft::fine_tuning
