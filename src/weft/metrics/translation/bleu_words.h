// SPDX-License-Identifier: Apache-2.0
// The words that BLEU counts: sacrebleu's tokenisers that need no library, by their names there.
#pragma once

#include <string>
#include <string_view>

namespace weft::metrics {

/// How a line is cut into words.
enum class BleuWords {
  k13a,   ///< mteval-v13a's: four entities, then punctuation that no digit touches
  kIntl,  ///< mteval-v14's: punctuation and symbols of all scripts
  kZh,    ///< Chinese characters one by one, the rest as 13a without its entities
  kChar,  ///< every character
  kNone,  ///< what blanks separate
};

/// "13a", "intl", "zh", "char", "none". Errors: kArgument for another name.
BleuWords parse_bleu_words(std::string_view name);
std::string_view name_of(BleuWords words) noexcept;

/// `line` with blanks between its words. Errors: kArgument for text that is not UTF-8 (kIntl).
std::string spaced_words(BleuWords words, std::string_view line);

}  // namespace weft::metrics
