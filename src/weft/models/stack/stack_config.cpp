// SPDX-License-Identifier: Apache-2.0
// A config's mechanisms, read for the errors that they give.
#include "weft/models/stack/stack_config.h"

#include "weft/core/error.h"

namespace weft::models {
namespace {

/// `has_positions`: the model adds positions of its own.
void check_mechanism(const std::string& expression, const attention::MechanismSite& site, const std::string& where,
                     bool has_positions) {
  try {
    const attention::MechanismSpec spec =
        attention::at_site(attention::parse_mechanism(expression, site.directory), site);
    require(!has_positions || !spec.brings_positions, "`", spec.description,
            "` knows positions by itself: expected a model without any (position_embedding none)");
  } catch (const Error& error) {
    throw Error(error.kind(), concat(where, ": ", error.what()), error.hint());
  }
}

}  // namespace

void check_mechanisms(const StackConfig& config, std::string_view where) {
  const bool has_positions = config.embeddings.positions != layers::PositionKind::kNone || config.rope_theta > 0.0;
  for (const layers::BlockConfig& block : config.blocks) {
    check_mechanism(block.attention, layers::site_of(block), concat(where, ": attention of layer ", block.layer),
                    has_positions);
    if (!block.cross_attention.empty()) {
      check_mechanism(block.cross_attention, layers::cross_site_of(block),
                      concat(where, ": cross_attention of layer ", block.layer), has_positions);
    }
  }
}

}  // namespace weft::models
