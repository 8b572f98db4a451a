// SPDX-License-Identifier: Apache-2.0
// Looked at before anything is computed, and completed behind it.
#include "weft/checkpoint/new_models/new_directory.h"

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/formats/json_members.h"
#include "weft/text/hugging_face.h"
#include "weft/text/hugging_face/tokenizer_classes.h"

namespace weft::checkpoint {

void require_no_model(const std::filesystem::path& out) {
  std::error_code error;
  if (std::filesystem::exists(out / "config.json", error)) {
    throw Error(ErrorKind::kArgument, concat(quote(out.native(), 4096), ": already holds a model"),
                "name another directory, or move that one away");
  }
  if (std::filesystem::exists(out, error) && !std::filesystem::is_directory(out, error)) {
    throw Error(ErrorKind::kArgument, concat(quote(out.native(), 4096), ": is there and is no directory"),
                "name a directory, or move that file away");
  }
}

void fit_tokenizer(const std::filesystem::path& directory, std::int64_t length, const std::string& family) {
  const ModelFile file(directory, "tokenizer_config.json");
  if (!file.exists() && !text::HuggingFaceTokenizer::present_in(directory)) {
    return;
  }
  formats::Json settings = file.exists() ? formats::read_json_object(file) : formats::Json::object();
  settings["model_max_length"] = length;
  const text::TokenizerClass* const usual = text::tokenizer_class_of(family);
  if (!settings.contains("tokenizer_class") && usual != nullptr) {
    settings["tokenizer_class"] = usual->name;
  }
  write_file_atomically(file.path(), formats::print_json(settings, 2) + "\n");
}

}  // namespace weft::checkpoint
