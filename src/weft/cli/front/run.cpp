// SPDX-License-Identifier: Apache-2.0
// Builds the app from the table of commands. CLI11's parse errors are said again in Weft's words, with the nearest
// known name.
#include "weft/cli/front/run.h"
#include "weft/cli/front/printing/visible_output.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/pattern/spans_command.h"
#include "weft/cli/front/spoken_flags.h"
#include "weft/cli/front/tensor_part.h"
#include "weft/cli/front/words/brackets.h"
#include "weft/cli/front/words/overwritten_input.h"
#include "weft/core/cpu.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/version.h"
#include "weft/kernels/fused.h"

namespace weft::cli {
namespace {

constexpr std::string_view kAbout =
    "Weft: transformers on long sequences. Attention is a graph, written as a short expression.";

constexpr std::string_view kProgramExamples =
    "Examples:\n"
    "  weft pattern show 'causal & (window(256) | global(4))' --length 4096\n"
    "  weft train --train-text books/ --eval-text held-out.txt --attention 'strided(256)' --context 4096 --minutes 5 "
    "--out run\n"
    "  weft eval run --text held-out.txt\n"
    "  weft generate run --prompt 'Once upon a time' --max-new-tokens 200\n\n"
    "`weft COMMAND --help` says more. Exit codes: 0 done, 1 an error, 2 misuse, 130 interrupted with state saved.\n"
    "Environment: WEFT_THREADS, WEFT_LOG=error|warning|info|debug, WEFT_ISA, NO_COLOR, HF_HUB_DISABLE_PROGRESS_BARS, "
    "HF_HOME, HF_TOKEN, HF_HUB_OFFLINE.";

/// The innermost command that was named.
const CLI::App& current(const CLI::App& app) {
  const CLI::App* found = &app;
  for (auto named = found->get_subcommands(); !named.empty(); named = found->get_subcommands()) {
    found = named.front();
  }
  return *found;
}

/// The name in `names` that `given` was perhaps meant to be, as the beginning of a hint.
std::string nearest_of(const std::string& given, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = nearest_name(given, views);
  return nearest.empty() ? "" : "did you mean " + std::string(nearest) + "? ";
}

// For "did you mean".
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

// For a word that fits nowhere: a flag, a command, or an argument too many, each with what was perhaps meant.
[[noreturn]] void fail_on_extra(const CLI::App& app, const std::string& given) {
  const std::string extra = unmarked(given);
  const CLI::App& command = current(app);
  const std::string help = "see " + command_path(command) + " --help";
  if (extra.starts_with('-')) {
    const std::string flag = extra.substr(0, extra.find('='));
    throw UsageError(command_path(command) + " has no flag " + flag, nearest_of(flag, flag_names(command)) + help);
  }
  const std::vector<std::string> names = command_names(command);
  if (!names.empty()) {
    const std::string nearest = nearest_of(extra, names);
    const bool few = names.size() <= 8;
    throw UsageError(command_path(command) + " has no command " + quote(extra),
                     nearest.empty() && few ? concat("its commands are ", joined(names, ", ")) : nearest + help);
  }
  throw UsageError(command_path(command) + ": unexpected argument " + quote(extra), help);
}

// CLI11 says "--x: 1 required TEXT missing", and "FILES: At least 2 required but received 1".
std::string in_own_words(const std::string& message) {
  const std::size_t end = message.find(": ");
  if (end == std::string::npos) {
    return message;
  }
  const std::string name = message.substr(0, end);
  if (name.starts_with('-') && message.ends_with(" missing")) {
    return name + " needs a value";
  }
  const std::string_view least = "At least ";
  const std::string_view received = " required but received ";
  const std::size_t middle = message.find(received);
  if (middle != std::string::npos && message.compare(end + 2, least.size(), least) == 0) {
    const std::size_t count = end + 2 + least.size();
    return "expected at least " + message.substr(count, middle - count) + " " + name + ", found " +
           message.substr(middle + received.size());
  }
  const std::size_t value = message.find("Value ");
  const std::string_view range = " not in range ";
  const std::size_t bounds = message.find(range);
  if (value == end + 2 && bounds != std::string::npos) {
    const std::size_t given = value + std::string_view("Value ").size();
    return name + " must be a number from " + message.substr(bounds + range.size()) + ", found " +
           quote(message.substr(given, bounds - given));
  }
  return message;
}

// What is left over is looked at first: CLI11 would complain of a missing argument and not say that a flag was
// misspelt.
[[noreturn]] void fail_in_own_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extra = app.remaining(true);
  if (!extra.empty()) {
    fail_on_extra(app, extra.front());
  }
  const CLI::App& command = current(app);
  const std::vector<std::string> commands = command_names(command);
  if (!commands.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    std::cerr << app.help() << '\n';
    throw UsageError(command_path(command) + " needs a command", "see " + command_path(command) + " COMMAND --help");
  }
  std::string message = error.what();
  message.resize(std::min(message.find('\n'), message.size()));
  throw UsageError(command_path(command) + ": " + in_own_words(message), "see " + command_path(command) + " --help");
}

/// What is parsed, and the first two arguments of it that are no flags: the program itself has no flag with a value.
struct SpokenWords {
  std::vector<char*> arguments;
  std::string_view command;
  std::string_view below;
};

/// `help COMMAND` is `COMMAND --help`, as many programs have it.
SpokenWords spoken_words(int count, char** arguments) {
  static char flag[] = "--help";
  SpokenWords words{.arguments = {arguments, arguments + count}, .command = {}, .below = {}};
  const auto is_word = [](std::string_view argument) { return !argument.starts_with('-'); };
  const auto first = [&] { return std::find_if(words.arguments.begin() + 1, words.arguments.end(), is_word); };
  if (count == 0) {
    return words;
  }
  for (auto word = first(); word != words.arguments.end() && std::string_view(*word) == "help"; word = first()) {
    *word = flag;
    std::rotate(word, word + 1, words.arguments.end());
  }
  for (auto word = first(); word != words.arguments.end() && words.below.empty(); ++word) {
    if (is_word(*word)) {
      (words.command.empty() ? words.command : words.below) = *word;
    }
  }
  return words;
}

/// Refuses a first word that is no command: CLI11 would go on, and take a word behind it that is one, as in
/// `trainn --task classify`. A flag before it that is wrong is said by the parse.
void check_command(const CLI::App& app, const SpokenWords& words) {
  const auto is_in = [](const std::vector<std::string>& names, std::string_view word) {
    return std::find(names.begin(), names.end(), word) != names.end();
  };
  const std::vector<std::string> flags = flag_names(app);
  for (auto word = words.arguments.begin() + 1; !words.command.empty() && *word != words.command; ++word) {
    if (std::string_view(*word) != "-h" && !is_in(flags, *word)) {
      return;
    }
  }
  if (!words.command.empty() && !is_in(command_names(app), words.command)) {
    fail_on_extra(app, std::string(words.command));
  }
}

/// Refuses to print help of a command that is not there: CLI11 would print that of the one above it.
void check_helped(const CLI::App& app) {
  const std::vector<std::string> extra = app.remaining(true);
  const bool has_word =
      std::any_of(extra.begin(), extra.end(), [](const auto& word) { return !word.starts_with('-'); });
  if (has_word && !command_names(current(app)).empty()) {
    fail_on_extra(app, extra.front());
  }
}

/// Replaces the listed command by that of libweft.
void add_spans(CLI::App& app) {
  CLI::App& pattern = *app.get_subcommand("pattern");
  pattern.remove_subcommand(pattern.get_subcommand(std::string(kSpansName)));
  tensor_part().add(pattern, kSpansPart);
}

/// Adds every command: `named` whole, and those that libweft would have to be opened for only with their names, unless
/// `named` describes them all.
void add_commands(CLI::App& app, const SpokenWords& named) {
  const bool all = named.command == "completion" || named.command == "manual";
  for (const Command& command : commands()) {
    if (command.add != nullptr) {
      command.add(app);
    } else if (command.name != named.command && !all) {
      list_command(app, std::string(command.name));
    } else if (!tensor_part().add(app, command.name)) {
      fail(ErrorKind::kUnsupported, "libweft has no command ", command.name, ": program and library differ in version");
    }
  }
  if (all || (named.command == "pattern" && named.below == kSpansName)) {
    add_spans(app);
  }
}

/// What `weft version` says beyond this needs LibTorch to be opened.
std::string build_facts() {
  return concat("weft ", kVersion, "\ncompiled by GCC ", __VERSION__, " for ", compiled_for(), ", running on ",
                cpu_description(), "\n");
}

void parse(CLI::App& app, SpokenWords& words) {
  const int count = static_cast<int>(words.arguments.size());
  std::vector<std::string> marked = marked_arguments(count, words.arguments.data());
  std::vector<char*> pointers;
  pointers.reserve(marked.size());
  for (std::string& argument : marked) {
    pointers.push_back(argument.data());
  }
  try {
    app.parse(count, pointers.data());
  } catch (const CLI::CallForHelp&) {
    check_helped(app);
    std::cout << app.help();
  } catch (const CLI::CallForAllHelp&) {
    check_helped(app);
    std::cout << app.help("", CLI::AppFormatMode::All);
  } catch (const CLI::CallForVersion&) {
    std::cout << build_facts();
  } catch (const CLI::ParseError& error) {
    fail_in_own_words(app, error);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    rethrow_in_flags(error, current(app), command_path(current(app)));
  }
  // A full disk or a closed pipe shows here at the latest.
  std::cout.flush();
  if (!std::cout) {
    fail(ErrorKind::kIo, "writing to standard output failed");
  }
}

}  // namespace

int run(int count, char** arguments) {
  SpokenWords words = spoken_words(count, arguments);
  name_options_as_flags();
  const VisibleOutput visible;
  try {
    CLI::App app{std::string(kAbout), "weft"};
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(std::string(kProgramExamples));
    app.set_help_flag("-h,--help", "print this help");
    app.set_help_all_flag("--help-all", "print the help with every flag");
    app.set_version_flag("--version", std::string(kVersion), "print the version");
    forget_model_arguments();
    forget_flags();
    add_commands(app, words);
    check_command(app, words);
    say_flags_in_help(app);
    app.parse_complete_callback([&app] {
      kernels::check_forced_isa();
      refuse_overwritten_input(current(app));
      resolve_model_arguments();
    });
    app.require_subcommand(1);
    unmark_values(app);
    parse(app, words);
    return 0;
  } catch (const std::exception& failure) {
    return report(failure);
  }
}

}  // namespace weft::cli
