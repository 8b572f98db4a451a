// SPDX-License-Identifier: Apache-2.0
// A field that has choices: the message names all of them, the hint the nearest one.
#include "weft/core/fields.h"

#include <algorithm>

#include "weft/core/quote.h"
#include "weft/core/text/choice_list.h"

namespace weft {

void check_choice(std::string_view where, std::string_view field, const std::vector<std::string_view>& choices,
                  std::string_view value) {
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    throw Error(ErrorKind::kArgument,
                concat(where, ": ", field, " must be one of ", choice_list(choices, ", "), ", found ", quote(value)),
                did_you_mean(value, choices));
  }
}

}  // namespace weft
