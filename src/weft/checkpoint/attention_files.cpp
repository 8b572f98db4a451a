// SPDX-License-Identifier: Apache-2.0
// The files of all mechanisms below a module.
#include "weft/checkpoint/attention_files.h"

#include "weft/attention/mechanism.h"
#include "weft/core/files.h"

namespace weft::checkpoint {

void write_attention_files(const std::filesystem::path& directory, const torch::nn::Module& model) {
  for (const auto& module : model.modules(/*include_self=*/false)) {
    const auto* mechanism = module->as<attention::AttentionImpl>();
    if (mechanism == nullptr) {
      continue;
    }
    for (const pattern::PatternFile& file : mechanism->spec().files) {
      std::filesystem::create_directories((directory / file.name).parent_path());
      write_file_atomically(directory / file.name, file.content);
    }
  }
}

}  // namespace weft::checkpoint
