// SPDX-License-Identifier: Apache-2.0
// Folders are relative to the program, so that an installation can be moved.
#include "weft/cli/tasks/shipped_model.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft::cli {

std::string shipped_model(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  if (const std::string chosen = environment("WEFT_MODELS").value_or(""); !chosen.empty()) {
    folders.emplace_back(chosen);
  } else {
    std::error_code ignored;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    folders.push_back(program.parent_path() / "share/weft/models");
    // build/PRESET/bin
    folders.push_back(program.parent_path().parent_path().parent_path() / "share/weft/models");
  }
  for (const std::filesystem::path& folder : folders) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / name / "config.json", ignored)) {
      return (folder / name).string();
    }
  }
  throw Error(ErrorKind::kIo,
              concat("the model ", quote(name), " that comes with Weft is not in ",
                     joined(folders, " or ", [](const auto& folder) { return quote(folder.string(), 4096); })),
              "--model names another directory, WEFT_MODELS the folder that holds it");
}

}  // namespace weft::cli
