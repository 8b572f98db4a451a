// SPDX-License-Identifier: Apache-2.0
// What manual pages and completions need of the command line: commands in one another, each with its flags, in plain
// values that were read from CLI11's apps.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace weft::cli {

struct OutlinedFlag {
  std::vector<std::string> names;    ///< "--out", "-h"; of an argument its name, "TEXT"
  std::string value;                 ///< "DIR", "N", "a|b"; empty: the flag takes none
  std::vector<std::string> choices;  ///< of the value, where it is one of a few words
  std::string about;
  std::string group;
  bool is_argument = false;
};

struct OutlinedCommand {
  std::string name;  ///< "show"
  std::string path;  ///< "weft pattern show"
  std::string about;
  std::string usage;  ///< "weft pattern show [FLAGS] EXPRESSION"
  std::string footer;
  std::vector<OutlinedFlag> flags;
  std::vector<OutlinedCommand> commands;
};

/// The app and all below it. `app` has every command with its flags.
OutlinedCommand outline_of(const CLI::App& app);

/// The command and all below it, each before those below it.
std::vector<const OutlinedCommand*> all_commands(const OutlinedCommand& root);

}  // namespace weft::cli
