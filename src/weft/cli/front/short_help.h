// SPDX-License-Identifier: Apache-2.0
// Help of commands with many flags: `--help` shows what a first run needs, `--help-all` every flag. Manual pages and
// completions know every flag whatever is said here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

namespace weft::cli {

/// What `--help` shows of a command.
struct ShortHelp {
  std::vector<std::string> flags = {};                         ///< "--out"; arguments and required flags always are
  std::vector<std::pair<std::string, std::string>> rows = {};  ///< names and texts in two columns, before the flags
  std::string examples = {};                                   ///< in place of all examples; a line each, as there
};

/// Adds to what `--help` of the command shows first; call it behind the flags. Errors: kArgument for a flag that the
/// command does not have.
void show_first(CLI::App& app, const ShortHelp& shown);

/// The flags that a command has so far, as ShortHelp names them: those of its own, where the shared ones come behind.
std::vector<std::string> flags_so_far(const CLI::App& app);

/// What `--help` shows in place of that where `flag` is given as `value`. Errors: as above.
void show_first_where(CLI::App& app, const std::string& flag, const std::string& value, const ShortHelp& shown);

}  // namespace weft::cli
