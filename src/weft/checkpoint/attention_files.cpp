// SPDX-License-Identifier: Apache-2.0
// The files of all mechanisms below a module, or of all expressions of a config.
#include "weft/checkpoint/attention_files.h"

#include <string>

#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/spec.h"
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

std::vector<pattern::PatternFile> named_graphs(const formats::Json& fields, const std::filesystem::path& directory) {
  std::vector<pattern::PatternFile> graphs;
  for (const auto& [name, value] : fields.items()) {
    for (const formats::Json& one : value.is_array() ? value : formats::Json::array({value})) {
      const std::string expression = name.ends_with("attention") && one.is_string() ? one.get<std::string>() : "";
      if (expression.find('"') != std::string::npos) {  // only file names are quoted
        const auto files = attention::parse_mechanism(expression, directory).files;
        graphs.insert(graphs.end(), files.begin(), files.end());
      }
    }
  }
  return graphs;
}

}  // namespace weft::checkpoint
