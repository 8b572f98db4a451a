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
  return option.get_option_text() != "NAME" &&
         std::any_of(kOutputs.begin(), kOutputs.end(),
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

[[noreturn]] void refuse(const std::string& read, const std::string& flag, const fs::path& written) {
  throw UsageError(concat(quote(read, 4096), " is read, and ", flag, " ", quote(written.native(), 4096),
                          " is the same file, which would be lost"),
                   concat("give another file to ", flag));
}

void refuse_reader_of(const fs::path& file, const CLI::Option& output, const CLI::App& command) {
  for (const CLI::Option* option : options_of(command, false)) {
    for (const std::string& word : option->results()) {
      if (names_file(word, file)) {
        refuse(word, output.get_name(), file);
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

void refuse_overwritten_input(const std::vector<fs::path>& written, std::span<const fs::path> read,
                              const std::string& flag) {
  for (const fs::path& file : written) {
    for (const fs::path& source : read) {
      std::error_code error;
      if (fs::is_regular_file(file, error) && fs::equivalent(source, file, error)) {
        refuse(source.native(), flag, file);
      }
    }
  }
}

}  // namespace weft::cli
