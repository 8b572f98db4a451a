// SPDX-License-Identifier: Apache-2.0
// Names of options in messages. Whoever calls the library knows the field, "target_lang"; who types a command knows its
// flag, "--target-lang". A library says option("target_lang"), and the command line says once that it speaks in flags.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace weft {

/// The name of a field as the users of this program know it, when it is printed.
struct OptionName {
  std::string_view field;
};
std::ostream& operator<<(std::ostream& stream, const OptionName& name);

constexpr OptionName option(std::string_view field) noexcept { return {field}; }

/// The flag of a field, whoever reads it: "hidden_size" as "--hidden-size".
std::string flag_name(std::string_view field);

/// From here on names are flags.
void name_options_as_flags() noexcept;

}  // namespace weft
