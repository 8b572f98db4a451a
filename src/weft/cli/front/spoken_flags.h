// SPDX-License-Identifier: Apache-2.0
// Errors in the words that were typed. Rules are written once, for the fields of a config (core/fields.h); a user of
// the command line knows them as flags. Where a field came from a config file, the file and the field are named. Help,
// which is written with the fields, is said in flags as well.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "weft/core/error.h"

namespace weft::cli {

/// The flag of each field: "train_text" -> "--train-text".
using FlagsOfFields = std::map<std::string, std::string, std::less<>>;

/// Forgets what was remembered of other command lines. To be called before a command line is made: an app that is gone
/// may have had the same address.
void forget_flags();

/// Remembers the flag of a field of `app`'s command.
void note_flag(const CLI::App& app, std::string_view field, const std::string& flag);

/// Remembers that these fields were read from the config file `file`, and given by no flag.
void note_config_file(const std::string& file, const std::vector<std::string>& fields);

/// A message about fields as one about flags. `command` is "weft train"; a message that begins with it names a rule of
/// a field first. Fields in `from_file` keep their name; a message that begins with one, or is such a rule, begins with
/// the file's name, and any other says in its hint where the field is from.
struct SpokenError {
  std::string message;
  std::string hint;
  bool names_a_flag = false;
};
SpokenError in_flags(const std::string& message, std::string_view command, const FlagsOfFields& flags,
                     const FlagsOfFields& from_file = {});

/// The help of every flag of `app` and of the commands below it, in flags: a field of the same command that it names,
/// by a name with an underscore, is printed as its flag. To be called once, when all flags are there.
void say_flags_in_help(CLI::App& app);

/// To be called where `error` is caught. Throws it in the words of the command line: UsageError where a flag that was
/// given or is missing is wrong.
[[noreturn]] void rethrow_in_flags(const Error& error, const CLI::App& command, const std::string& name);

}  // namespace weft::cli
