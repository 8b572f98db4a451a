// SPDX-License-Identifier: Apache-2.0
// Which options an attention leaves without effect, and what a change of attention costs.
#include "weft/checkpoint/new_models/family_attention.h"

#include <algorithm>

#include "weft/attention/mechanisms/spec.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::checkpoint {
namespace {

bool knows_positions(const layers::BlockConfig& block) {
  return block.rope_theta > 0.0 || block.alibi || block.knows_positions || block.distance_buckets.has_value() ||
         attention::parse_mechanism(block.attention, block.directory).brings_positions;
}

/// Whether a layer does, when nothing replaces the family's own attention.
bool family_knows_positions(models::EncoderConfig config) {
  config.attention.clear();
  return knows_positions(models::encoder_rules(config).stack(config, {}).blocks.front());
}

}  // namespace

void require_family_setting(std::string_view command, std::string_view name, std::string_view field,
                            const models::EncoderConfig& config) {
  if (!models::encoder_rules(config).has_field(field)) {
    throw UsageError(concat(command, ": ", option(name), " is not for the family ", config.model_type),
                     "leave it out, or choose a family that its help names");
  }
  const auto& replaced = models::encoder_rules(config).attention_fields;
  if (!config.attention.empty() && std::find(replaced.begin(), replaced.end(), field) != replaced.end()) {
    throw UsageError(concat(command, ": ", option(name), " is a setting of ", config.model_type,
                            "'s own attention, which ", quoted_list(config.attention, 2), " replaces"),
                     concat("leave out ", option(name), ", or the attention that replaces it"));
  }
}

void warn_of_attention_left(const models::EncoderConfig& source, const models::EncoderConfig& made,
                            const std::string& directory) {
  if (!source.attention.empty() && made.attention.empty()) {
    log_warning("the new model attends as a ", made.model_type, " does, and no longer by the attention ",
                quoted_list(source.attention, 2), " of ", quote(directory, 4096), "; ", option("attention"),
                " keeps one");
  }
}

void warn_without_order(const models::EncoderConfig& config) {
  const auto blocks = models::encoder_rules(config).stack(config, {}).blocks;
  if (config.has_position_table() || blocks.empty() || std::any_of(blocks.begin(), blocks.end(), knows_positions)) {
    return;
  }
  log_warning("this ", config.model_type, " has no position embeddings, and the attention ",
              quote(blocks.front().attention), " knows no positions by itself: the model may not know the order of ",
              "its tokens; ",
              family_knows_positions(config) ? std::string("the family's own attention")
                                             : concat(option("attention"), " relative"),
              " does");
}

}  // namespace weft::checkpoint
