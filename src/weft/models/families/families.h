// SPDX-License-Identifier: Apache-2.0
// The families that Weft opens, one row each in list.inc. A family is a folder: its config's own fields, what it
// becomes, the names of its weights, its first values and what it costs.
#pragma once

#include <span>
#include <string_view>

#include "weft/formats/config_json.h"

namespace weft::models {

struct CausalRules;
struct EncoderRules;
struct PairRules;

/// A row: what a family is, by the rules that it has.
struct Family {
  std::string_view name;        ///< that of list.inc
  std::string_view model_type;  ///< in config.json
  /// Whether a config.json of that model_type is this family's. Null: every one is.
  bool (*reads)(const formats::Json& config) = nullptr;
  /// The family whose layers and settings a model of this one has, so that it becomes what such a one becomes; empty: a
  /// layer is another.
  std::string_view layers_of = {};
  const EncoderRules* encoder = nullptr;  ///< with a head for a task
  const PairRules* pair = nullptr;        ///< of two stacks
  const CausalRules* causal = nullptr;    ///< of one stack with a vocabulary above it
};

/// All that are here, in the order of list.inc.
std::span<const Family* const> families();

/// The family of that name; null where there is none.
const Family* find_family(std::string_view name);

/// The first one that reads this config.json; null where there is none.
const Family* family_of(const formats::Json& config);

}  // namespace weft::models
