// SPDX-License-Identifier: Apache-2.0
// The rows of list.inc, without the functions that are in libweft.
#include "weft/cli/front/commands/table.h"

#include <algorithm>
#include <array>

namespace weft::cli {

#define WEFT_REGISTER_CORE_COMMAND(name, add, about) Command{name, about, add},
#define WEFT_REGISTER_TENSOR_COMMAND(name, add, about) Command{name, about, nullptr},

std::span<const Command> commands() {
  static constexpr std::array kCommands{
#include "weft/cli/front/commands/list.inc"
  };
  return kCommands;
}

#undef WEFT_REGISTER_CORE_COMMAND
#undef WEFT_REGISTER_TENSOR_COMMAND

namespace {

// A topic, and the command that its rows begin with.
struct Topic {
  std::string_view first;
  std::string_view title;
};
constexpr std::array kTopics{Topic{"train", "Train and measure"}, Topic{"generate", "Read and write texts"},
                             Topic{"serve", "Serve and keep models"}, Topic{"profile", "Look into attention"},
                             Topic{"completion", "The program itself"}};

}  // namespace

std::string_view topic_of(std::string_view name) {
  std::string_view topic = kTopics.front().title;
  for (const Command& command : commands()) {
    const auto* const begins = std::ranges::find(kTopics, command.name, &Topic::first);
    topic = begins == kTopics.end() ? topic : begins->title;
    if (command.name == name) {
      break;
    }
  }
  return topic;
}

const Command* find_command(std::string_view name) {
  const std::span<const Command> all = commands();
  const auto found = std::ranges::find(all, name, &Command::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace weft::cli
