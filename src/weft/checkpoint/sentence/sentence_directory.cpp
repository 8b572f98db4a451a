// SPDX-License-Identifier: Apache-2.0
// Modules in the order of the list, each fed by the one before it.
#include "weft/checkpoint/sentence/sentence_directory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/checkpoint/sentence/module_files.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"

namespace weft::checkpoint {
namespace {

namespace fs = std::filesystem;
using formats::Json;

// Vectors exist from the first Pooling on. The library passes over a Normalize before it, and fails on others.
bool comes_too_early(const ListedModule& listed, bool pooled) {
  if (pooled || listed.kind == "Pooling") {
    return false;
  }
  if (listed.kind != "Normalize") {
    fail(ErrorKind::kFormat, listed.where, ": stands before the Pooling, where a text has no vector yet");
  }
  log_warning(listed.where, ": stands before the Pooling and changes nothing");
  return true;
}

std::vector<SentenceModule> read_modules(const fs::path& directory, const std::vector<ListedModule>& list) {
  std::vector<SentenceModule> modules;
  std::int64_t width = 0;
  for (std::size_t i = 1; i < list.size(); ++i) {
    const ListedModule& listed = list[i];
    if (!is_module_kind(listed.kind)) {
      throw Error(
          ErrorKind::kUnsupported,
          concat(listed.where, ": Weft has the modules Pooling, Dense, LayerNorm, Normalize and Dropout behind ",
                 "one Transformer, found ", quote(listed.kind)),
          "sentence-transformers opens such a directory");
    }
    require_folder(directory, listed);
    if (comes_too_early(listed, !modules.empty())) {
      continue;
    }
    modules.push_back(read_module(directory, listed));
    const auto* pooling = std::get_if<PoolingModule>(&modules.back());
    // A Pooling begins anew with the vectors of the tokens.
    width = width_behind(modules.back(), pooling != nullptr ? pooling->width : width, listed.where);
  }
  return modules;
}

Json settings_json(const SentenceDirectory& sentence) {
  Json settings{{"model_type", sentence.library_class}, {"prompts", Json::object()}};
  for (const auto& [name, text] : sentence.prompts) {
    settings["prompts"][name] = text;
  }
  const std::string& name = sentence.default_prompt_name;
  settings["default_prompt_name"] = name.empty() ? Json(nullptr) : Json(name);
  if (!sentence.is_cross_encoder()) {
    settings["similarity_fn_name"] = sentence.similarity;
  } else if (!sentence.activation_fn.empty()) {
    settings["activation_fn"] = sentence.activation_fn;
  }
  if (sentence.truncate_dim > 0) {
    settings["truncate_dim"] = sentence.truncate_dim;
  }
  return settings;
}

Json listed_json(std::size_t idx, std::string_view kind, const std::string& folder) {
  return {{"idx", idx},
          {"name", std::to_string(idx)},
          {"path", folder},
          {"type", concat("sentence_transformers.models.", kind)}};
}

}  // namespace

std::optional<SentenceDirectory> read_sentence_directory(const fs::path& directory) {
  if (!is_sentence_directory(directory)) {
    return std::nullopt;
  }
  const std::vector<ListedModule> list = read_sentence_list(directory);
  SentenceDirectory sentence{read_sentence_settings(directory, list), {}};
  if (!sentence.is_cross_encoder()) {
    sentence.modules = read_modules(directory, list);
  }
  return sentence;
}

void write_sentence_directory(const fs::path& directory, const SentenceDirectory& sentence) {
  Json list = Json::array({listed_json(0, "Transformer", "")});
  for (const SentenceModule& module : sentence.modules) {
    const std::string folder = concat(list.size(), "_", kind_name(module));
    write_module(directory / folder, module);
    list.push_back(listed_json(list.size(), kind_name(module), folder));
  }
  const std::int64_t longest = sentence.max_seq_length;
  Json transformer{{"max_seq_length", longest > 0 ? Json(longest) : Json(nullptr)},
                   {"do_lower_case", sentence.do_lower_case}};
  if (sentence.is_cross_encoder()) {
    transformer["transformer_task"] = "sequence-classification";
  }
  const auto write = [&](const char* name, const Json& json) {
    write_file_atomically(directory / name, formats::print_json(json, 2) + "\n");
  };
  write(kSentenceTransformerFiles.front(), transformer);
  write(kSentenceSettings, settings_json(sentence));
  write(kSentenceModules, list);
}

}  // namespace weft::checkpoint
