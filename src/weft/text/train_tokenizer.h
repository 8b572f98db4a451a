// SPDX-License-Identifier: Apache-2.0
// A vocabulary learned from text, by the tokenizers crate: byte-level BPE (Sennrich et al. 2016; Radford et al. 2019)
// or a unigram model (Kudo 2018) over the same bytes. Every text has ids under it, and comes back from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace weft::text {

/// What is learned.
struct TokenizerTraining {
  bool unigram = false;
  bool dna = false;  ///< letters of a genome: acgtn as upper case, and tokens may span anything but a line's end
  std::int64_t vocabulary_size = 8192;  ///< 261 or more: five special tokens and the 256 bytes
  std::int64_t min_frequency = 2;       ///< BPE: a pair that occurs less often is not merged
  std::int64_t longest_token = 16;      ///< bytes
};

/// The tokenizer.json that `training` makes of the texts that `next` gives; its special tokens are <s>, <pad>, </s>,
/// <unk> and <mask>, ids 0 to 4. `next` fills its argument or returns false behind the last text; it is called from
/// other threads, one at a time, and what it throws is thrown here. Different words are held in memory, of `dna` whole
/// lines. Errors: kArgument for a vocabulary below 261 or no text; kFormat as the crate says.
std::string train_tokenizer(const TokenizerTraining& training, const std::function<bool(std::string&)>& next);

/// Makes `folder` with what train_tokenizer() gave and a tokenizer_config.json that names its special tokens. Errors:
/// kIo.
void write_trained_tokenizer(const std::filesystem::path& folder, const std::string& tokenizer_json);

}  // namespace weft::text
