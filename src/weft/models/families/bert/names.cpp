// SPDX-License-Identifier: Apache-2.0
// Rows that several families have, once.
#include "weft/models/families/bert/names.h"

#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {

std::vector<NameRow> with_masked_lm_names(std::vector<NameRow> own) {
  std::vector<NameRow> rows = {
      {"head.dense", {"cls.predictions.transform.dense"}, Head::kMaskedLanguageModel},
      {"head.norm", {"cls.predictions.transform.LayerNorm"}, Head::kMaskedLanguageModel},
      {.weft = "head.bias",
       .parts = {"cls.predictions.bias"},
       .head = Head::kMaskedLanguageModel,
       .other = "cls.predictions.decoder.bias",
       .other_if_untied = true},
      {"head.decoder", {"cls.predictions.decoder.weight"}, Head::kMaskedLanguageModel},
  };
  rows.insert(rows.end(), own.begin(), own.end());
  return rows;
}

std::vector<NameRow> with_bert_names(std::vector<NameRow> own) {
  const std::vector<NameRow>& of_bert = bert_family().encoder->names;
  own.insert(own.end(), of_bert.begin(), of_bert.end());
  return own;
}

}  // namespace weft::models
