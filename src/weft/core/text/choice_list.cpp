// SPDX-License-Identifier: Apache-2.0
// An empty choice would show as a separator with nothing before it.
#include "weft/core/text/choice_list.h"

#include <algorithm>
#include <iterator>

#include "weft/core/joined.h"

namespace weft {

std::string choice_list(const std::vector<std::string_view>& choices, std::string_view between) {
  std::vector<std::string_view> shown;
  std::ranges::copy_if(choices, std::back_inserter(shown), [](std::string_view choice) { return !choice.empty(); });
  return joined(shown, between);
}

}  // namespace weft
