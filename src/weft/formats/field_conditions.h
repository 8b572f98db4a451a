// SPDX-License-Identifier: Apache-2.0
// Fields that were given and have no effect, because of what other fields are: `beta1` beside the optimiser adafactor.
// A config as a whole may hold them, since a file has a value for every field; what somebody gave, they meant.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"

namespace weft::formats {

/// Whether all conditions of `field` hold among `values`. A condition whose fields are all missing there holds: nothing
/// is known of it.
bool conditions_hold(const FieldRule& field, const Json& values);

/// Errors: kArgument where one does not, naming `where`, the field, the condition and what was found.
void check_conditions(const FieldRule& field, const Json& values, std::string_view where);

/// Whether a value switches something on: neither empty nor 0 nor false.
bool is_set(const Json& value);

/// Whether `found` leaves something off where `usual` is the default: a switch as it is by default, -1 where that means
/// none, 0, an empty text or list.
bool leaves_off(const Json& found, const Json& usual);

/// The same for every field of `Config` in `given`. One that leaves something off is at home everywhere.
template <class Config>
void check_given_conditions(const Json& given, const Json& values, std::string_view where) {
  const Json usual = to_json(Config());
  Config::fields([&](const FieldRule& field) {
    const auto found = given.find(std::string(field.name));
    if (field.conditions.empty() || found == given.end()) {
      return;
    }
    if (!leaves_off(*found, usual.at(std::string(field.name)))) {
      check_conditions(field, values, where);
    }
  });
}

}  // namespace weft::formats
