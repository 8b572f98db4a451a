// SPDX-License-Identifier: Apache-2.0
// Pairs of texts as rows of ids: each text within its frame, cut where that is allowed, refused where it does not fit.
#pragma once

#include <string>
#include <vector>

#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/pairs/pair_rows.h"
#include "weft/fine_tuning/pairs/pair_texts.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::fine_tuning {

/// How a run reads its texts. A text is nothing but text: special tokens that are written in it are letters.
struct PairEncoding {
  const PairConfig& config;
  const models::EncoderDecoderConfig& model;
  const text::PairTokenizer& tokenizer;

  /// Adds all pairs of `texts` with their links to `rows`, and their targets to `references` where that is given. Pairs
  /// whose tokens lie in two words have no links, and a warning says how many. Errors: as PairTexts;
  /// kArgument naming the file and line of a text that is longer than the model or a batch takes; kFormat for ids that
  /// the model has no row for.
  /// Of denoise, the pieces of all texts (Denoiser::add); with `references`, held-out ones with their noise, drawn
  /// once.
  ReadSummary encode(PairTexts& texts, PairRows& rows, std::vector<std::string>* references = nullptr) const;

 private:
  ReadSummary encode_noised(PairTexts& texts, PairRows& rows, std::vector<std::string>* references) const;
};

}  // namespace weft::fine_tuning
