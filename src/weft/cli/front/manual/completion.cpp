// SPDX-License-Identifier: Apache-2.0
// All three walk the words before the cursor to the innermost command. A value is one of its choices, else a file.
#include "weft/cli/front/manual/completion.h"

#include <string_view>

#include "weft/core/error.h"
#include "weft/core/joined.h"

namespace weft::cli {
namespace {

constexpr std::string_view kNote = "# Made by `weft completion`; the next installation writes it anew.\n";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t place = text.find(from); place != std::string::npos; place = text.find(from, place + to.size())) {
    text.replace(place, from.size(), to);
  }
  return text;
}

// In single quotes for bash and zsh.
std::string shell_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// fish knows \' and \\ between single quotes.
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string words_of_choices(const OutlinedFlag& flag) {
  return joined(flag.choices, " ", [](const std::string& choice) { return choice; });
}

// Commands below and flags, as a list of words.
std::string offered_words(const OutlinedCommand& command) {
  std::string words;
  for (const OutlinedCommand& below : command.commands) {
    words += below.name + " ";
  }
  for (const OutlinedFlag& flag : command.flags) {
    for (const std::string& name : flag.names) {
      words += flag.is_argument ? "" : name + " ";
    }
  }
  return words;
}

// The lines of a case over `path word` for which the path grows.
std::string path_cases(const OutlinedCommand& program, std::string_view indent) {
  std::string cases;
  for (const OutlinedCommand* command : all_commands(program)) {
    for (const OutlinedCommand& below : command->commands) {
      cases += std::string(indent) + shell_quoted(below.path) + ") path=" + shell_quoted(below.path) + " ;;\n";
    }
  }
  return cases;
}

// "name[about]:value:action" of a flag for _arguments.
std::string zsh_flag(const OutlinedFlag& flag, const std::string& name) {
  std::string about = flag.about;
  for (const char* sign : {"\\", "[", "]", ":"}) {
    about = replaced(about, sign, "\\" + std::string(sign));
  }
  std::string spec = name + "[" + about + "]";
  if (!flag.value.empty()) {
    spec += flag.choices.empty() ? ":value:_files" : ":value:(" + words_of_choices(flag) + ")";
  }
  return shell_quoted(spec);
}

// The names that lead from the program to the command, without the program's.
std::vector<std::string> names_below(const OutlinedCommand& command) {
  std::vector<std::string> names;
  std::size_t begin = command.path.find(' ');
  while (begin != std::string::npos) {
    const std::size_t end = command.path.find(' ', begin + 1);
    names.push_back(command.path.substr(begin + 1, end == std::string::npos ? end : end - begin - 1));
    begin = end;
  }
  return names;
}

std::string fish_condition(const OutlinedCommand& command) {
  const std::vector<std::string> names = names_below(command);
  if (names.empty()) {
    return "__fish_use_subcommand";
  }
  std::string condition =
      joined(names, "; and ", [](const std::string& name) { return "__fish_seen_subcommand_from " + name; });
  if (!command.commands.empty()) {
    condition += "; and not __fish_seen_subcommand_from";
    for (const OutlinedCommand& below : command.commands) {
      condition += " " + below.name;
    }
  }
  return condition;
}

}  // namespace

std::string bash_completion(const OutlinedCommand& program) {
  std::string script(kNote);
  script +=
      "_weft() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} path=weft words='' i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"$path ${COMP_WORDS[i]}\" in\n" +
      path_cases(program, "      ") +
      "    esac\n"
      "  done\n"
      "  case \"$path $before\" in\n";
  std::string values;
  std::string lists;
  for (const OutlinedCommand* command : all_commands(program)) {
    for (const OutlinedFlag& flag : command->flags) {
      for (const std::string& name : flag.names) {
        if (!flag.is_argument && !flag.value.empty()) {
          const std::string action = flag.choices.empty()
                                         ? "compgen -f -- \"$word\""
                                         : "compgen -W " + shell_quoted(words_of_choices(flag)) + " -- \"$word\"";
          values += "    " + shell_quoted(concat(command->path, " ", name)) + ") mapfile -t COMPREPLY < <(" + action +
                    "); return ;;\n";
        }
      }
    }
    lists += "    " + shell_quoted(command->path) + ") words=" + shell_quoted(offered_words(*command)) + " ;;\n";
  }
  return script + values +
         "  esac\n"
         "  case $path in\n" +
         lists +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "  if [[ $word != -* && $path != weft ]]; then\n"
         "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _weft weft\n";
}

std::string zsh_completion(const OutlinedCommand& program) {
  std::string script = "#compdef weft\n" + std::string(kNote);
  script +=
      "_weft() {\n"
      "  local path=weft i\n"
      "  for ((i = 2; i < CURRENT; ++i)); do\n"
      "    case \"$path ${words[i]}\" in\n" +
      path_cases(program, "      ") +
      "    esac\n"
      "  done\n"
      "  case $path in\n";
  // zsh ties `path` to PATH: another name.
  script = replaced(replaced(script, "local path=", "local found="), "path=", "found=");
  script = replaced(script, "$path", "$found");
  for (const OutlinedCommand* command : all_commands(program)) {
    script += "    " + shell_quoted(command->path) + ")\n      _arguments";
    for (const OutlinedFlag& flag : command->flags) {
      for (const std::string& name : flag.names) {
        script += flag.is_argument ? "" : " \\\n        " + zsh_flag(flag, name);
      }
    }
    if (command->commands.empty()) {
      script += " \\\n        '*:file:_files' ;;\n";
    } else {
      const std::string names = joined(command->commands, " ", [](const OutlinedCommand& below) { return below.name; });
      script += " \\\n        " + shell_quoted("*:command:(" + names + ")") + " ;;\n";
    }
  }
  return script +
         "  esac\n"
         "}\n"
         "_weft \"$@\"\n";
}

std::string fish_completion(const OutlinedCommand& program) {
  std::string script(kNote);
  for (const OutlinedCommand* command : all_commands(program)) {
    const std::string begin = "complete -c weft -n " + fish_quoted(fish_condition(*command));
    for (const OutlinedCommand& below : command->commands) {
      script += begin + " -f -a " + below.name + " -d " + fish_quoted(below.about) + "\n";
    }
    for (const OutlinedFlag& flag : command->flags) {
      for (const std::string& name : flag.names) {
        if (flag.is_argument) {
          continue;
        }
        const bool is_long = name.starts_with("--");
        script += begin + (is_long ? " -l " + name.substr(2) : " -s " + name.substr(1));
        if (!flag.value.empty()) {
          script += flag.choices.empty() ? " -r" : " -x -a " + fish_quoted(words_of_choices(flag));
        }
        script += " -d " + fish_quoted(flag.about) + "\n";
      }
    }
  }
  return script;
}

}  // namespace weft::cli
