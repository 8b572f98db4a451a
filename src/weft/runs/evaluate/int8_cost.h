// SPDX-License-Identifier: Apache-2.0
// What int8 weights cost a model on held-out text: its figures with the weights as they were, and with their codes,
// each computed as the commands compute where nobody tells them how.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"

namespace weft::runs {

struct Int8Check {
  std::filesystem::path model;        ///< directory with floating-point weights
  std::filesystem::path int8;         ///< what checkpoint::convert_directory() made of it
  std::filesystem::path text;         ///< held out; of embedders and encoder-decoders a text a line
  std::filesystem::path target = {};  ///< of an encoder-decoder: what its sources should become, line by line
};

/// Errors: kArgument where a target is missing or nobody reads one; kIo for a file that is not there. For whoever has
/// not converted yet.
void check_int8_texts(const Int8Check& check);

/// {"measure", "mean_change", "worst_change", ...}. Of a language model the loss in nats a token or masked token, over
/// all and in the worst of up to 32 pieces of the text ("pieces"), with "stored" and "int8". Of another encoder how far
/// a text's vector turns: 1 - cosine, over all texts and the worst one, and the largest change of the cosine of two
/// neighbouring texts ("worst_pair"). Of an encoder-decoder the loss, and "bleu" with both figures and the change.
/// "dtype" has the types of both computations.
formats::Json int8_cost(const Int8Check& check);

}  // namespace weft::runs
