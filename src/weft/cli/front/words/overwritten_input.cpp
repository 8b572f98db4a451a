// SPDX-License-Identifier: Apache-2.0
// Any word of a command line may name a file: what exists is compared, however it is spelled.
#include "weft/cli/front/words/overwritten_input.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/usage_error.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kOutputs = {"out", "output", "predictions", "token-scores",
                                                      "svg", "png",    "plot"};

bool is_output(const CLI::Option& option) {
  return std::any_of(kOutputs.begin(), kOutputs.end(),
                     [&](std::string_view name) { return option.check_lname(std::string(name)); });
}

// The word, or what stands behind the "=" of LABEL=PATH.
bool names_file(const std::string& word, const fs::path& file) {
  std::error_code error;
  const std::size_t equals = word.find('=');
  return fs::equivalent(word, file, error) ||
         (equals != std::string::npos && fs::equivalent(word.substr(equals + 1), file, error));
}

std::vector<const CLI::Option*> options_of(const CLI::App& command, bool outputs) {
  return command.get_options([outputs](const CLI::Option* option) { return is_output(*option) == outputs; });
}

void refuse_reader_of(const fs::path& file, const CLI::Option& output, const CLI::App& command) {
  for (const CLI::Option* option : options_of(command, false)) {
    for (const std::string& word : option->results()) {
      if (names_file(word, file)) {
        throw UsageError(concat(quote(word, 4096), " is read, and ", output.get_name(), " ", quote(file.native(), 4096),
                                " is the same file, which would be lost"),
                         concat("give another file to ", output.get_name()));
      }
    }
  }
}

}  // namespace

void refuse_overwritten_input(const CLI::App& command) {
  for (const CLI::Option* option : options_of(command, true)) {
    for (const std::string& file : option->results()) {
      std::error_code error;
      if (fs::is_regular_file(file, error)) {
        refuse_reader_of(file, *option, command);
      }
    }
  }
}

}  // namespace weft::cli
