// SPDX-License-Identifier: Apache-2.0
// The rows of list.inc, without the functions that are in libweft.
#include "weft/cli/commands/table.h"

#include <algorithm>
#include <array>

namespace weft::cli {

#define WEFT_REGISTER_CORE_COMMAND(name, add, about) Command{name, about, add},
#define WEFT_REGISTER_TENSOR_COMMAND(name, add, about) Command{name, about, nullptr},

std::span<const Command> commands() {
  static constexpr std::array kCommands{
#include "weft/cli/commands/list.inc"
  };
  return kCommands;
}

#undef WEFT_REGISTER_CORE_COMMAND
#undef WEFT_REGISTER_TENSOR_COMMAND

const Command* find_command(std::string_view name) {
  const std::span<const Command> all = commands();
  const auto found = std::ranges::find(all, name, &Command::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace weft::cli
