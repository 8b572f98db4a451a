// SPDX-License-Identifier: Apache-2.0
// One setting of the whole process, made when it begins.
#include "weft/core/system/option_name.h"

#include <algorithm>
#include <atomic>

namespace weft {
namespace {

std::atomic<bool> as_flags{false};

}  // namespace

std::ostream& operator<<(std::ostream& stream, const OptionName& name) {
  if (!as_flags.load(std::memory_order_relaxed)) {
    return stream << name.field;
  }
  return stream << flag_name(name.field);
}

std::string flag_name(std::string_view field) {
  std::string name = "--" + std::string(field);
  std::ranges::replace(name, '_', '-');
  return name;
}

void name_options_as_flags() noexcept { as_flags.store(true, std::memory_order_relaxed); }

}  // namespace weft
