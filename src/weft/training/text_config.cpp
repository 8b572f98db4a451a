// SPDX-License-Identifier: Apache-2.0
// Rules of a TextConfig, and what of it a resumed run may change.
#include "weft/training/text_config.h"

#include <array>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/training/resumption.h"

namespace weft::training {
namespace {

void make_absolute(std::vector<std::string>& paths) {
  for (std::string& path : paths) {
    path = std::filesystem::absolute(path).lexically_normal().string();
  }
}

}  // namespace

void check_config(const TextConfig& config, std::string_view where) {
  check_fields(config, where);
  require(!config.train_text.empty(), where, ": train_text must name a file or folder, found none");
}

TextConfig resolved(TextConfig config) {
  make_absolute(config.train_text);
  make_absolute(config.eval_text);
  return config;
}

TextConfig resumed_text(const formats::Json& recorded, formats::Json& given, const std::filesystem::path& where) {
  // The data themselves are compared, so that files may have moved.
  constexpr std::array<std::string_view, 3> kChangeable = {"train_text", "eval_text", "max_eval_bytes"};
  auto config = resumed_settings<TextConfig>(recorded, given, kChangeable, where);
  check_config(config, quote(where.native(), 4096));
  return config;
}

}  // namespace weft::training
