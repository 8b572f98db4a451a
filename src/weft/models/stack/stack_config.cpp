// SPDX-License-Identifier: Apache-2.0
// A config's mechanisms, read for the errors that they give.
#include "weft/models/stack/stack_config.h"

#include "weft/core/error.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::models {
namespace {

using attention::MechanismSpec;

/// A mechanism's message without the word that it begins with, because the field in front of it says the same.
std::string_view without_room(std::string_view message) {
  for (const std::string_view room : {"attention: ", "cross-attention: "}) {
    if (message.starts_with(room)) {
      return message.substr(room.size());
    }
  }
  return message;
}

/// `check` is given the mechanism at its site.
template <typename Check>
void check_mechanism(const std::string& expression, const attention::MechanismSite& site, const std::string& where,
                     const Check& check) {
  try {
    check(attention::at_site(attention::parse_mechanism(expression, site.directory), site));
  } catch (const Error& error) {
    throw Error(error.kind(), concat(where, ": ", without_room(error.what())), error.hint());
  }
}

void check_projections(const MechanismSpec& spec, const layers::BlockConfig& block) {
  if (spec.projections == attention::Projections::kSharedQueryKey) {
    require(block.score_factor == 1.0, "`", spec.description,
            "` has one projection of queries and keys, whose scores this family's factor of ", block.score_factor,
            " has no place in");
    require(block.key_value_heads == block.heads, "`", spec.description,
            "` has one projection of queries and keys: expected as many key heads as the ", block.heads,
            " query heads, found ", block.key_value_heads);
    require(!block.self_attention, "`", spec.description,
            "` has one projection of queries and keys, and layers of this family have two");
  }
}

/// Latents go from layer to layer with the text.
void check_latents(const MechanismSpec& spec, const layers::BlockConfig& block, const StackConfig& config,
                   std::int64_t of_first) {
  require(spec.latents == of_first, "`", spec.description, "` has ", spec.latents, " latents, and layer 0 has ",
          of_first, ": expected the same number in every layer");
  require(spec.latents == 0 || config.residual == Residual::kOneStream, "`", spec.description,
          "` has latents, which have no place in reversible layers");
  require(spec.summed_block == 0 || config.residual == Residual::kOneStream, "`", spec.description,
          "` has sums of blocks, which have no place in reversible layers");
  require(spec.latents == 0 || block.head_size == 0, "`", spec.description,
          "` has latents, whose heads share the hidden columns: expected no head size of its own, found ",
          block.head_size);
}

/// Names the family of encoders whose own attention the mechanism is; empty where there is none.
std::string hint_of_family(const MechanismSpec& spec) {
  const std::string_view family = family_of_attention(spec.name);
  return family.empty() ? std::string()
                        : concat("it is the attention of ", family, ": weft init --family ", family,
                                 " makes such a model, and weft convert --to ", family, " makes one out of a ",
                                 families_to_start_from());
}

/// Positions come from the scores or from the model, not from both.
void check_room_for_positions(const MechanismSpec& spec, const layers::BlockConfig& block, const StackConfig& config) {
  const bool has_positions = config.embeddings.positions != layers::PositionKind::kNone || block.rope_theta > 0.0;
  if (has_positions && spec.brings_positions) {
    throw Error(ErrorKind::kArgument,
                concat("`", spec.description, "` knows positions by itself: expected a model without any (",
                       config.no_positions, ")"),
                hint_of_family(spec));
  }
}

/// Companions that calls bring, which one model has and another has not.
void check_companions(const MechanismSpec& spec, const StackConfig& config) {
  if (spec.companions && !config.companions) {
    throw Error(ErrorKind::kArgument,
                concat("`", spec.description, "` attends to global tokens beside the text, which this model has not"),
                hint_of_family(spec));
  }
  require(spec.companions || !config.companions, "`", spec.description,
          "` attends to no global tokens, and this model has some beside its text");
}

}  // namespace

void check_mechanisms(const StackConfig& config, std::string_view where) {
  std::int64_t latents = -1;
  for (const layers::BlockConfig& block : config.blocks) {
    if (block.make && block.attention.empty()) {
      continue;  // a block of its own kind
    }
    check_mechanism(block.attention, layers::site_of(block),
                    concat(where, ": ", config.attention_field, " of layer ", block.layer),
                    [&](const MechanismSpec& spec) {
                      check_companions(spec, config);  // first: a model without positions would not do
                      check_room_for_positions(spec, block, config);
                      check_projections(spec, block);
                      latents = latents < 0 ? spec.latents : latents;
                      check_latents(spec, block, config, latents);
                    });
    if (!block.cross_attention.empty()) {
      check_mechanism(block.cross_attention, layers::cross_site_of(block),
                      concat(where, ": cross_attention of layer ", block.layer),
                      [&](const MechanismSpec& spec) { check_room_for_positions(spec, block, config); });
    }
  }
}

}  // namespace weft::models
