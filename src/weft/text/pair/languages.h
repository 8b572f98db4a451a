// SPDX-License-Identifier: Apache-2.0
// Models of many languages whose texts say their own by a token: the source's is in its frame, and a target begins with
// its own (mBART, mBART-50, NLLB, M2M100).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weft/text/hugging_face/settings.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::text {

struct FramedLanguages {
  std::map<std::string, std::int64_t, std::less<>> ids = {};  ///< by code: "en_XX", "eng_Latn", "en"
  bool code_first = true;                                     ///< code A </s>; else A </s> code
  std::int64_t end = 0;                                       ///< `</s>`
  std::string source = {};                                    ///< code that the files name, or the class's own
  std::string target = {};                                    ///< code that the files name, or empty

  /// What a source in the language of that id has around it.
  Frame frame_of(std::int64_t language) const;
};

/// `inner`, the tokeniser of `directory` by its `settings`, with the frames of its languages where its class has such;
/// else as it is. Errors: kFormat naming the directory, where the files name a language that the vocabulary lacks.
std::unique_ptr<PairTokenizer> with_languages(std::unique_ptr<PairTokenizer> inner, const TokenizerSettings& settings,
                                              const std::filesystem::path& directory);

}  // namespace weft::text
