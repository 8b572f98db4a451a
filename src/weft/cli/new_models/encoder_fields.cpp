// SPDX-License-Identifier: Apache-2.0
// Each family's own fields stand where its config.json has them.
#include "weft/cli/new_models/encoder_fields.h"

#include <algorithm>
#include <string>

#include "weft/core/joined.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::cli {
namespace {

/// Calls visit(rule, value) for the fields that families have alone and write behind `shared`. A field of several
/// families is that of the first one, wherever the others write it.
template <typename Visitor>
void each_own_field(std::string_view shared, const Visitor& visit) {
  for (const models::Family* family : models::encoder_families()) {
    if (family->encoder->own_fields_after != shared) {
      continue;
    }
    family->encoder->base.own.each([&](const FieldRule& rule, const auto& value) {
      if (models::families_with(rule.name).front() == family->name) {
        visit(rule, value);
      }
    });
  }
}

/// A rule that takes whatever that of one of the families takes: the family's own is asked when its config is there.
FieldRule widened(FieldRule rule) {
  for (const models::Family* family : models::encoder_families()) {
    family->encoder->base.own.each([&](const FieldRule& other, const auto& /*value*/) {
      if (other.name != rule.name) {
        return;
      }
      rule.minimum = rule.minimum && other.minimum ? std::min(rule.minimum, other.minimum) : std::nullopt;
      rule.maximum = rule.maximum && other.maximum ? std::max(rule.maximum, other.maximum) : std::nullopt;
      for (const std::string_view choice : other.choices) {
        if (std::find(rule.choices.begin(), rule.choices.end(), choice) == rule.choices.end()) {
          rule.choices.push_back(choice);
        }
      }
    });
  }
  return rule;
}

/// Help names the families that have the field, where most have it not.
template <typename Value>
void add_for_families(CLI::App& app, FieldRule rule, const Value& otherwise, const FlagGroup& group,
                      formats::Json& given) {
  const std::vector<std::string_view> names = models::families_with(rule.name);
  const std::string help = 2 * names.size() < models::kEncoderTypes.size()
                               ? concat(rule.help, " (", joined(names, ", "), ")")
                               : std::string(rule.help);
  rule.help = help;
  add_flag(app, rule, otherwise, group, given);
}

}  // namespace

void add_encoder_fields(CLI::App& app, const FlagGroup& group, formats::Json& given) {
  models::EncoderConfig::fields([&](const auto& field) {
    if (is_flag_in(group, field.name)) {
      const models::EncoderConfig defaults;
      add_for_families(app, field, defaults.*field.member, group, given);
    }
    each_own_field(field.name, [&](const FieldRule& rule, const auto& value) {
      add_for_families(app, widened(rule), value, group, given);
    });
  });
}

std::vector<std::string_view> encoder_field_names() {
  std::vector<std::string_view> names;
  models::EncoderConfig::fields([&](const auto& field) {
    names.push_back(field.name);
    each_own_field(field.name, [&](const FieldRule& rule, const auto&) { names.push_back(rule.name); });
  });
  return names;
}

}  // namespace weft::cli
