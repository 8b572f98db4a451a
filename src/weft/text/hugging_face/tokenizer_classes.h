// SPDX-License-Identifier: Apache-2.0
// The tokeniser classes of `transformers` whose older files are read, one row each: their vocabulary, the family whose
// models have them, and what makes a tokenizer.json of the files. This header sees no LibTorch: whoever asks what the
// tokeniser of a family is, asks here.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "weft/text/hugging_face/settings.h"

namespace weft::text {

/// Contents of a tokeniser's files by name.
using TokenizerFiles = std::map<std::string, std::string>;

struct TokenizerClass {
  std::string_view name;        ///< "BertTokenizer"; files may add "Fast"
  std::string_view model_type;  ///< of the family whose class this is where no file names one
  std::string_view vocabulary;  ///< "vocab.txt"
  bool token_types = false;     ///< models are given the types of tokens (token_type_ids)
  /// The text of a tokenizer.json, see compose.h.
  std::string (*compose)(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) = nullptr;
  bool usual = false;  ///< of several classes that read the vocabulary, this one where the files name none
};

std::span<const TokenizerClass> tokenizer_classes();
/// The class of that name, with "Fast" or without; null where no row has it.
const TokenizerClass* find_tokenizer_class(std::string_view name);
/// That of a family; null where no row has it.
const TokenizerClass* tokenizer_class_of(std::string_view model_type);

/// A tokeniser class of transformers without its ending, for comparison.
constexpr std::string_view without_fast(std::string_view name) {
  name.remove_suffix(name.ends_with("Fast") ? 4 : 0);
  return name;
}

}  // namespace weft::text
