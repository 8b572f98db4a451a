// SPDX-License-Identifier: Apache-2.0
// The one list to extend for a new command: docs/recipes/add-a-command.md.
#include "weft/cli/commands/table.h"

#include <array>

#include "weft/cli/tasks/task_commands.h"

namespace weft::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"train", add_train},     Command{"eval", add_eval},         Command{"report", add_report},
      Command{"compare", add_compare}, Command{"generate", add_generate}, Command{"tokenizer", add_tokenizer},
      Command{"data", add_data},       Command{"tokenize", add_tokenize}, Command{"fill-mask", add_fill_mask},
      Command{"embed", add_embed},     Command{"classify", add_classify}, Command{"tag", add_tag},
      Command{"answer", add_answer},   Command{"choose", add_choose},     Command{"forward", add_forward},
      Command{"convert", add_convert}, Command{"init", add_init},         Command{"info", add_info},
      Command{"pattern", add_pattern}, Command{"bench", add_bench},       Command{"version", add_version},
  };
  return kCommands;
}

}  // namespace weft::cli
