// SPDX-License-Identifier: Apache-2.0
// English words without their endings: Porter's algorithm (1980) with the extensions of NLTK's PorterStemmer, which
// ROUGE uses. Snowball's stemmers differ.
#pragma once

#include <string>
#include <string_view>

namespace weft::metrics {

/// The stem of a word in lower case, as nltk.stem.porter.PorterStemmer().stem(word). Bytes that are no ASCII letters
/// are consonants.
std::string porter_stem(std::string_view word);

}  // namespace weft::metrics
