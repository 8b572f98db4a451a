// SPDX-License-Identifier: Apache-2.0
// `weft completion` and `weft manual`: the whole command line for shells and for man. run() has added every command.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/manual/completion.h"
#include "weft/cli/front/manual/man_page.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"

namespace weft::cli {
namespace {

void write_all_of(const OutlinedCommand& program, const std::filesystem::path& folder) {
  for (const char* below :
       {"man/man1", "bash-completion/completions", "zsh/site-functions", "fish/vendor_completions.d"}) {
    std::error_code problem;
    std::filesystem::create_directories(folder / below, problem);
    if (problem) {
      fail(ErrorKind::kIo, "cannot make the folder ", quote((folder / below).native(), 4096), ": ", problem.message());
    }
  }
  for (const OutlinedCommand* command : all_commands(program)) {
    write_file_atomically(folder / "man/man1" / man_page_name(*command), man_page(*command));
  }
  write_file_atomically(folder / "bash-completion/completions/weft", bash_completion(program));
  write_file_atomically(folder / "zsh/site-functions/_weft", zsh_completion(program));
  write_file_atomically(folder / "fish/vendor_completions.d/weft.fish", fish_completion(program));
}

}  // namespace

void add_completion(CLI::App& parent) {
  auto shell = std::make_shared<std::string>();
  CLI::App& app = add_command(parent, "completion",
                              "  source <(weft completion bash)\n"
                              "  weft completion fish > ~/.config/fish/completions/weft.fish");
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(one_of("SHELL", {"bash", "zsh", "fish"}));
  app.callback([shell, &parent] {
    const OutlinedCommand program = outline_of(parent);
    std::cout << (*shell == "bash"  ? bash_completion(program)
                  : *shell == "zsh" ? zsh_completion(program)
                                    : fish_completion(program));
  });
}

void add_manual(CLI::App& parent) {
  auto folder = std::make_shared<std::string>();
  CLI::App& app = add_command(parent, "manual", "  weft manual /usr/local/share");
  app.add_option("FOLDER", *folder,
                 "folder that gets man/man1 and the completions of bash, zsh and fish; made if needed")
      ->required();
  app.callback([folder, &parent] {
    write_all_of(outline_of(parent), *folder);
    std::cout << *folder << '\n';
  });
}

}  // namespace weft::cli
