// SPDX-License-Identifier: Apache-2.0
// What a model is, for programs and people: parameters, shape, attention, head, labels, lengths. No weight is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/tasks/card/attention_summary.h"

namespace weft::tasks {

/// The layers of one stack, or what a decoder's layers see of a source.
struct CardAttention {
  std::string name;  ///< "", or "encoder ", "decoder " and "cross-" of a model that writes
  std::vector<AttentionSummary> layers;
  std::int64_t length = 0;  ///< tokens that densities and costs are of; 0: of none
};

/// All cards have "family", "kind" (encoder, decoder or encoder-decoder), "parameters" and "width". A model that reads
/// has "head", "layers", "heads", "feed_forward", "positions", "vocabulary", "labels", "tokenizer", "rerank"
/// {"activation", "prompt"} where it is a cross-encoder, "sentence_transformers" where there is a modules.json
/// ({"model_type", "modules" (as text, the Transformer first), "embedding", "max_length", "do_lower_case", "prompts",
/// "default_prompt_name", "similarity"}, without what belongs to embedders alone of a cross-encoder), and what
/// EncoderModelImpl::computed() says. One that writes has "encoder", "decoder", "vocabulary", "tables", an
/// attention_json() of each part, what EncoderDecoderImpl::computed() says, and "config"; one that predicts "layers",
/// "heads", "positions", "attention" and "config".
struct Card {
  formats::Json json;
  std::vector<CardAttention> attention;
};

/// Names and shapes of the weights count parameters and say which tables are shared. Errors: those of the config and of
/// the weights' files; those of checkpoint::read_sentence_directory() and make_recipe().
Card card_of(const checkpoint::OpenedModel& directory);

}  // namespace weft::tasks
