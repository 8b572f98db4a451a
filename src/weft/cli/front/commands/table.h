// SPDX-License-Identifier: Apache-2.0
// The table of commands. A command is a file that declares its flags on a CLI11 app and runs in that app's callback.
#pragma once

#include <span>
#include <string_view>

#include <CLI/App.hpp>

namespace weft::cli {

/// A command's name, what `weft --help` says about it, and what adds its flags and its callback to the app of the
/// program. Nothing adds a command that computes with tensors: libweft does (tensor_commands.h).
struct Command {
  std::string_view name;
  std::string_view about;
  void (*add)(CLI::App& parent) = nullptr;
};

/// Every command, in the order of `weft --help`.
std::span<const Command> commands();

/// What a command of the table is for, in a few words: `weft --help` has the commands of one topic together.
std::string_view topic_of(std::string_view name);

/// The row of the command `name`, or null.
const Command* find_command(std::string_view name);

/// The commands of libweft_core; each is the last function of the file that is named after it.
#define WEFT_REGISTER_CORE_COMMAND(name, add, about) void add(CLI::App& parent);
#define WEFT_REGISTER_TENSOR_COMMAND(name, add, about)
#include "weft/cli/front/commands/list.inc"
#undef WEFT_REGISTER_CORE_COMMAND
#undef WEFT_REGISTER_TENSOR_COMMAND

}  // namespace weft::cli
