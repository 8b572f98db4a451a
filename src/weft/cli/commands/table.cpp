// SPDX-License-Identifier: Apache-2.0
// The one list to extend for a new command: docs/recipes/add-a-command.md.
#include "weft/cli/commands/table.h"

#include <array>

namespace weft::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"train", add_train},         Command{"eval", add_eval},         Command{"report", add_report},
      Command{"compare", add_compare},     Command{"generate", add_generate}, Command{"info", add_info},
      Command{"tokenizer", add_tokenizer}, Command{"data", add_data},         Command{"pattern", add_pattern},
      Command{"bench", add_bench},         Command{"version", add_version},
  };
  return kCommands;
}

}  // namespace weft::cli
