// SPDX-License-Identifier: Apache-2.0
// Names by the rows of the family; a local layer's three projections lie under each other in Weft's.
#include "weft/checkpoint/reformer/directory.h"

#include <string>
#include <string_view>

#include "weft/checkpoint/reformer/config_json.h"
#include "weft/checkpoint/tokenizer_files.h"
#include "weft/core/files.h"
#include "weft/core/version.h"
#include "weft/models/families/family.h"
#include "weft/models/families/name_rows.h"

namespace weft::checkpoint {
namespace {

/// The head's bias under the name that it has in transformers 4, too, and constants that old files hold.
bool is_surplus(std::string_view name) {
  return name == "lm_head.decoder.bias" || name.find("mask_value_float") != std::string_view::npos;
}

}  // namespace

WeightMap reformer_map(const models::TransformerConfig&) {
  return {.names = [](const std::string& parameter) -> HuggingFaceNames {
            const std::string name = parameter.starts_with("head.") ? parameter : "encoder." + parameter;
            return {.parts = models::names_by_rows(models::reformer_family().names, name, "reformer.",
                                                   models::Head::kMaskedLanguageModel)};
          },
          .may_be_surplus = is_surplus,
          .takes_float64 = true};
}

void save_reformer(const std::filesystem::path& directory, const models::LanguageModel& model,
                   const std::filesystem::path& files_from) {
  const std::string config = formats::print_json(reformer_to_json(model->config()), 2) + "\n";
  write_directory_atomically(directory, [&](const std::filesystem::path& fresh) {
    for (const char* name : kHuggingFaceTokenizerFiles) {
      copy_if_there(files_from, name, fresh);
    }
    copy_if_there(files_from, "tokenizer.model", fresh, "spiece.model");  // what a run calls SentencePiece's file
    save_tensors(fresh / "model.safetensors", named_weights(*model, reformer_map(model->config())),
                 {{"format", "pt"}, {"weft_version", std::string(kVersion)}});
    write_file_atomically(fresh / "config.json", config);
  });
}

}  // namespace weft::checkpoint
