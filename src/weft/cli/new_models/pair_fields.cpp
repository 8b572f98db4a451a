// SPDX-License-Identifier: Apache-2.0
// Encoders have many of them already.
#include "weft/cli/new_models/pair_fields.h"

#include <algorithm>

#include "weft/cli/new_models/encoder_fields.h"
#include "weft/core/error.h"
#include "weft/models/families/pair_rules.h"

namespace weft::cli {

std::vector<std::string_view> pair_fields_left_out() {
  std::vector<std::string_view> names{"position_embedding",  "position_offset",    "norm_position",
                                      "normalize_embedding", "loss_chunk_size",    "gradient_checkpointing",
                                      "tokenizer_class",     "encoder_full_until", "alignment_layer",
                                      "alignment_head",      "right_to_left"};
  const std::vector<std::string_view> of_encoders = encoder_field_names();
  names.insert(names.end(), of_encoders.begin(), of_encoders.end());
  return names;
}

void add_pair_own_fields(CLI::App& app, const FlagGroup& group, formats::Json& given) {
  std::vector<std::string_view> seen = encoder_field_names();
  for (const models::Family* family : models::pair_families()) {
    family->pair->defaults.own.each([&](const FieldRule& rule, const auto& value) {
      if (std::find(seen.begin(), seen.end(), rule.name) == seen.end()) {
        seen.push_back(rule.name);
        const std::string help = concat(rule.help, " (", models::pairs_with(rule.name), ")");
        FieldRule shown = rule;
        shown.help = help;
        add_flag(app, shown, value, group, given);
      }
    });
  }
}

}  // namespace weft::cli
