// SPDX-License-Identifier: Apache-2.0
// What a directory says of a cross-encoder beside its model: what makes a score of its logit, and the prompt that goes
// before a query, as CrossEncoder of sentence-transformers writes them (config_sentence_transformers.json; config.json
// before its version 5.4).
#pragma once

#include <string>

#include "weft/checkpoint/open_model.h"

namespace weft::checkpoint {

struct CrossEncoderSettings {
  std::string activation = "torch.nn.modules.activation.Sigmoid";  ///< import path of the class
  std::string where;                                               ///< the file and field that name it; empty: none
  std::string prompt;                                              ///< put before each query; mostly empty
};

/// Whether the model has a sequence-classification head of one label: it gives a pair of texts a score. Errors: as
/// OpenedModel::can().
bool is_cross_encoder(const OpenedModel& directory);

/// The settings of a directory. Where it names no activation, it is Sigmoid for one label and Identity for several.
/// Errors: kFormat naming the file and the field for one of the wrong type, and for a default prompt that is not among
/// the prompts.
CrossEncoderSettings read_cross_encoder(const OpenedModel& directory);

}  // namespace weft::checkpoint
