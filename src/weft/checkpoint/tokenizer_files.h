// SPDX-License-Identifier: Apache-2.0
// What the tokeniser of a Hugging Face directory may consist of.
#pragma once

#include <array>

namespace weft::checkpoint {

/// The files that text::HuggingFaceTokenizer reads.
inline constexpr std::array kHuggingFaceTokenizerFiles{
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
};

}  // namespace weft::checkpoint
