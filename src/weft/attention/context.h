// SPDX-License-Identifier: Apache-2.0
// What a mechanism is told with each call. Apart from mechanism.h, whose module base costs 13 s to compile.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/core/random.h"
#include "weft/pattern/site.h"

namespace weft::attention {

/// What a mechanism decided by comparing numbers, such as which rows belong together. The mechanism that made it knows
/// its type.
struct MechanismChoice {
  MechanismChoice() = default;
  MechanismChoice(const MechanismChoice&) = default;
  MechanismChoice& operator=(const MechanismChoice&) = default;
  virtual ~MechanismChoice() = default;
};

/// The choice of one layer's call. A call that is computed again has other last bits and could decide otherwise:
/// whoever repeats a call gives it the object that the first one filled in.
struct AttentionChoices {
  std::shared_ptr<const MechanismChoice> made = {};  ///< null before the first call, and where there is none to make
};

/// Is shown the calls of a pass; see profile/attention_observer.h.
class AttentionObserver;

/// What is known of the companions of a call besides their number, such as which tokens belong to which. The mechanism
/// or block that reads it knows its type.
struct CompanionStructure {
  CompanionStructure() = default;
  CompanionStructure(const CompanionStructure&) = default;
  CompanionStructure& operator=(const CompanionStructure&) = default;
  virtual ~CompanionStructure() = default;
};

/// What differs from call to call. A model passes it on and never asks which mechanism it has.
struct AttentionContext {
  at::Tensor key_keep;                    ///< bool [B, K], false marks a padded key; undefined keeps all
  std::vector<pattern::RowBinding> rows;  ///< positions bound to `input` and lengths, one a batch row; empty when none
  std::int64_t query_offset = 0;          ///< position of the first query; keys start at position 0
  DropoutSeed seed;                       ///< of the dropout in this call; the layer mixes in its number
  bool without_dropout = false;           ///< nothing is dropped out in this call, also in training mode
  std::shared_ptr<AttentionChoices> choices = {};  ///< of one layer; null: nobody computes this call again
  AttentionObserver* observer = nullptr;           ///< not owned; null: nobody watches, which is so but for a profile
  std::int64_t companions = 0;  ///< the first rows of queries, keys and values that are in front of the text, at no
                                ///< position of it; everything above is about the text behind them
  std::shared_ptr<const CompanionStructure> structure = {};  ///< of the companions; null: nothing is known
};

}  // namespace weft::attention
