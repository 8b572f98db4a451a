// SPDX-License-Identifier: Apache-2.0
// What is known of a model before a weight is read, in terms that hold for every model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/inspect/cost/model_cost.h"

namespace weft::checkpoint {

/// The layers that a text goes through, one after the other.
struct StackFacts {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
};

/// The text that a model reads; of an encoder-decoder the source.
struct ReadingFacts {
  StackFacts stack;
  std::int64_t vocabulary = 0;             ///< ids are below it
  std::int64_t token_types = 1;            ///< token types are below it
  bool passes_types = false;               ///< `transformers` gives it token types unless the tokeniser's files say no
  std::int64_t longest = 0;                ///< tokens of the longest text that it is made for
  std::optional<std::int64_t> limit = {};  ///< tokens that have a position; none where a text may be longer
  std::int64_t width = 0;                  ///< columns of the last hidden states
  bool is_causal = false;                  ///< a token sees those before it alone
  std::vector<std::int64_t> picture = {};  ///< rows, columns and channels where it reads pictures; empty for texts
};

/// The target that an encoder-decoder writes.
struct WritingFacts {
  StackFacts stack;
  std::int64_t vocabulary = 0;             ///< ids that it scores
  std::int64_t longest = 0;                ///< tokens of the longest target that it is made for
  std::optional<std::int64_t> limit = {};  ///< as that of a reading
};

/// What decides how much memory a computation takes.
struct CostFacts {
  inspect::ModelShape layer;  ///< one layer, whose activations are in memory at once; without a head
  std::int64_t state = 0;     ///< numbers that a token leaves for those after it: keys and values of all layers
  std::int64_t scores = 0;    ///< logits of a token that is written
};

struct Facts {
  std::string family;  ///< model_type of its config.json
  ReadingFacts reads;
  std::optional<WritingFacts> writes = {};
  CostFacts costs;
};

}  // namespace weft::checkpoint
