// SPDX-License-Identifier: Apache-2.0
// The table of commands. A command is a file that declares its flags on a CLI11 app and runs in that app's callback.
#pragma once

#include <span>
#include <string_view>

#include <CLI/App.hpp>

namespace weft::cli {

/// A command's name, and what adds its flags and its callback to the app of the program.
struct Command {
  std::string_view name;
  void (*add)(CLI::App& parent);
};

/// Every command, in the order of `weft --help`.
std::span<const Command> commands();

/// What the table lists; each is the last function of the file that is named after its command.
void add_train(CLI::App& parent);
void add_eval(CLI::App& parent);
void add_report(CLI::App& parent);
void add_compare(CLI::App& parent);
void add_generate(CLI::App& parent);
void add_info(CLI::App& parent);
void add_tokenizer(CLI::App& parent);
void add_data(CLI::App& parent);
void add_pattern(CLI::App& parent);
void add_bench(CLI::App& parent);
void add_version(CLI::App& parent);

}  // namespace weft::cli
