// SPDX-License-Identifier: Apache-2.0
// modules.json says which folders there are, sentence_bert_config.json how long a text may be, and
// config_sentence_transformers.json which prompts a text may have.
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

constexpr const char* kModules = "modules.json";
constexpr const char* kSettings = "config_sentence_transformers.json";
// Of the transformer, in the order in which the library looks for them.
constexpr std::array kTransformerSettings{"sentence_bert_config.json",       "sentence_roberta_config.json",
                                          "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                          "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                          "sentence_xlnet_config.json"};
constexpr const char* kTransformer = "Transformer";
constexpr const char* kCrossEncoder = "CrossEncoder";

// A folder below the directory, on any system: nothing that leads out of it.
fs::path checked_folder(const fs::path& directory, const std::string& path, const std::string& where) {
  const fs::path folder(path);
  const bool leaves = folder.is_absolute() || path.find_first_of("\\:") != std::string::npos ||
                      std::ranges::find(folder, "..") != folder.end();
  if (leaves) {
    fail(ErrorKind::kFormat, where, ": path must be a folder below the directory, found ", quote(path));
  }
  check_stays_within(directory, directory / folder);
  return folder;
}

std::string kind_of(const std::string& type, const std::string& where) {
  if (!type.starts_with("sentence_transformers.")) {
    throw Error(ErrorKind::kUnsupported,
                concat(where, ": type must begin with 'sentence_transformers.', found ", quote(type)),
                "the module is other people's code, which Weft does not run");
  }
  return type.substr(type.rfind('.') + 1);
}

ListedModule listed_module(const fs::path& directory, const Json& entry, std::size_t number, std::int64_t& last_idx) {
  const std::string where = concat(quoted_place(directory / kModules), ": module ", number);
  ListedModule listed;
  listed.kind = kind_of(formats::value_of<std::string>(entry, "type", where), where);
  listed.path = checked_folder(directory, formats::value_of<std::string>(entry, "path", where), where);
  listed.where = concat(where, " (", quote(listed.kind), ")");
  const auto idx = formats::value_or<std::int64_t>(entry, "idx", where, last_idx + 1);
  if (idx <= last_idx) {
    throw Error(ErrorKind::kFormat, concat(where, ": idx must be more than ", last_idx, ", found ", idx),
                "the modules run in the order of the list: put them in the order of idx");
  }
  last_idx = idx;
  return listed;
}

std::vector<ListedModule> read_list(const fs::path& directory) {
  const ModelFile file(directory, kModules);
  const Json json = formats::read_json(file);
  constexpr std::size_t kMost = 64;
  const std::string where = quoted_place(file.path());
  if (!json.is_array() || json.empty()) {
    formats::wrong_type(concat(where, ": the content"), "a list of modules", json);
  }
  if (json.size() > kMost) {
    fail(ErrorKind::kFormat, where, ": expected at most ", kMost, " modules, found ", json.size());
  }
  std::vector<ListedModule> modules;
  std::int64_t last_idx = -1;
  for (const Json& entry : json) {
    modules.push_back(listed_module(directory, entry, modules.size(), last_idx));
  }
  if (modules.front().kind != kTransformer) {
    throw Error(
        ErrorKind::kUnsupported,
        concat(modules.front().where, ": the first module must be a Transformer, found ", quote(modules.front().kind)),
        "Weft embeds with transformers; what looks words up in a table is read by sentence-transformers");
  }
  return modules;
}

void require_folder(const fs::path& directory, const ListedModule& listed) {
  std::error_code error;
  const fs::path folder = directory / listed.path;
  const bool needs_nothing = listed.kind == "Normalize" || listed.kind == "Dropout";
  if (!needs_nothing && !fs::is_directory(folder, error)) {
    throw Error(ErrorKind::kFormat, concat(listed.where, ": its folder ", quoted_place(folder), " is not there"),
                "copy the directory whole; a model of the Hub comes whole with weft download NAME");
  }
}

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

// {"text": {"method": "forward", "method_output_name": "last_hidden_state"}} is what there was before version 6.
void check_modalities(const Json& settings, const std::string& where) {
  const auto modalities = settings.find("modality_config");
  if (modalities == settings.end() || modalities->is_null()) {
    return;
  }
  const std::string inside = concat(where, ": modality_config");
  const Json& text = formats::object_member(*modalities, "text", inside);
  const auto output = formats::value_or(text, "method_output_name", inside, std::string("last_hidden_state"));
  if (output != "last_hidden_state" || modalities->contains("message")) {
    throw Error(ErrorKind::kUnsupported,
                concat(inside, ": expected texts that become last_hidden_state, found ",
                       modalities->contains("message") ? "messages of a chat" : quote(output)),
                "sentence-transformers opens such a directory");
  }
}

// Settings with which a transformer gives something else than its last hidden states, or reads something else than
// text: nothing here would notice.
void check_transformer(const Json& settings, const std::string& where, bool cross_encoder) {
  const auto expect = [&](std::string_view name, std::string_view expected) {
    const auto found = formats::value_or(settings, name, where, std::string(expected));
    if (found != expected) {
      throw Error(ErrorKind::kUnsupported,
                  concat(where, ": ", name, " must be ", quote(expected), ", found ", quote(found)),
                  "sentence-transformers opens such a directory");
    }
  };
  if (!cross_encoder) {
    expect("transformer_task", "feature-extraction");
    expect("module_output_name", "token_embeddings");
    check_modalities(settings, where);
  }
  constexpr std::array<std::string_view, 6> kRead{"max_seq_length",  "do_lower_case",      "transformer_task",
                                                  "modality_config", "module_output_name", "unpad_inputs"};
  for (const auto& [name, value] : settings.items()) {
    const bool says_nothing = value.is_null() || (value.is_structured() && value.empty());
    if (std::ranges::find(kRead, name) == kRead.end() && !says_nothing) {
      log_info(where, ": ", quote(name), " is not read");
    }
  }
}

void read_transformer_settings(const fs::path& directory, const fs::path& folder, SentenceDirectory& sentence) {
  for (const char* name : kTransformerSettings) {
    const ModelFile file(directory, folder / name);
    const Json settings = file.exists() ? formats::read_json_object(file) : Json::object();
    if (settings.empty()) {
      continue;
    }
    const std::string where = quoted_place(file.path());
    check_transformer(settings, where, sentence.model_type == kCrossEncoder);
    if (const auto found = settings.find("max_seq_length"); found != settings.end() && !found->is_null()) {
      sentence.max_seq_length = formats::value_of<std::int64_t>(settings, "max_seq_length", where);
      if (sentence.max_seq_length < 1) {
        fail(ErrorKind::kFormat, where, ": max_seq_length must be at least 1, found ", sentence.max_seq_length);
      }
    }
    sentence.do_lower_case = formats::value_or(settings, "do_lower_case", where, false);
    return;
  }
}

// The member as a value, or `otherwise` where it is null or not there.
template <typename Value>
Value said_or(const Json& settings, std::string_view name, const std::string& where, Value otherwise) {
  const auto found = settings.find(std::string(name));
  return found == settings.end() || found->is_null() ? otherwise : formats::value_of<Value>(settings, name, where);
}

void read_prompts(const Json& settings, const std::string& where, SentenceDirectory& sentence) {
  const auto prompts = settings.find("prompts");
  if (prompts != settings.end() && !prompts->is_null()) {
    for (const auto& [name, text] : formats::object_member(settings, "prompts", where).items()) {
      sentence.prompts[name] = said_or<std::string>(*prompts, name, concat(where, ": prompts"), {});
    }
  }
  sentence.default_prompt_name = said_or<std::string>(settings, "default_prompt_name", where, {});
  if (!sentence.default_prompt_name.empty() && !sentence.prompts.contains(sentence.default_prompt_name)) {
    fail(ErrorKind::kFormat, where, ": default_prompt_name must be one of the prompts, found ",
         quote(sentence.default_prompt_name));
  }
}

void read_settings(const fs::path& directory, SentenceDirectory& sentence) {
  const ModelFile file(directory, kSettings);
  if (!file.exists()) {
    return;
  }
  const Json settings = formats::read_json_object(file);
  const std::string where = quoted_place(file.path());
  sentence.model_type = said_or(settings, "model_type", where, sentence.model_type);
  sentence.activation_fn = said_or<std::string>(settings, "activation_fn", where, {});
  read_prompts(settings, where, sentence);
  sentence.similarity = said_or(settings, "similarity_fn_name", where, sentence.similarity);
  constexpr std::array<std::string_view, 4> kSimilarities{"cosine", "dot", "euclidean", "manhattan"};
  if (std::ranges::find(kSimilarities, sentence.similarity) == kSimilarities.end()) {
    fail(ErrorKind::kFormat, where, ": similarity_fn_name must be cosine, dot, euclidean or manhattan, found ",
         quote(sentence.similarity));
  }
  if (const auto found = settings.find("truncate_dim"); found != settings.end() && !found->is_null()) {
    sentence.truncate_dim = formats::value_of<std::int64_t>(settings, "truncate_dim", where);
    if (sentence.truncate_dim < 1) {
      fail(ErrorKind::kFormat, where, ": truncate_dim must be at least 1, found ", sentence.truncate_dim);
    }
  }
}

Json settings_json(const SentenceDirectory& sentence) {
  Json settings{{"model_type", sentence.model_type}, {"prompts", Json::object()}};
  for (const auto& [name, text] : sentence.prompts) {
    settings["prompts"][name] = text;
  }
  const std::string& name = sentence.default_prompt_name;
  settings["default_prompt_name"] = name.empty() ? Json(nullptr) : Json(name);
  if (sentence.model_type != kCrossEncoder) {
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

bool is_sentence_directory(const fs::path& directory) { return ModelFile(directory, kModules).exists(); }

fs::path transformer_folder(const fs::path& directory) {
  if (!is_sentence_directory(directory)) {
    return directory;
  }
  const ListedModule transformer = read_list(directory).front();
  require_folder(directory, transformer);
  return transformer.path.empty() ? directory : directory / transformer.path;
}

std::optional<SentenceDirectory> read_sentence_directory(const fs::path& directory) {
  if (!is_sentence_directory(directory)) {
    return std::nullopt;
  }
  SentenceDirectory sentence;
  read_settings(directory, sentence);
  if (sentence.model_type != kCrossEncoder && sentence.model_type != "SentenceTransformer") {
    throw Error(ErrorKind::kUnsupported,
                concat(quoted_place(directory / kSettings),
                       ": model_type must be SentenceTransformer or CrossEncoder, found ", quote(sentence.model_type)),
                "sentence-transformers opens such a directory");
  }
  const std::vector<ListedModule> list = read_list(directory);
  require_folder(directory, list.front());
  sentence.transformer = list.front().path.empty() ? directory : directory / list.front().path;
  read_transformer_settings(directory, list.front().path, sentence);
  if (sentence.model_type != kCrossEncoder) {
    sentence.modules = read_modules(directory, list);
  }
  return sentence;
}

void write_sentence_directory(const fs::path& directory, const SentenceDirectory& sentence) {
  Json list = Json::array({listed_json(0, kTransformer, "")});
  for (const SentenceModule& module : sentence.modules) {
    const std::string folder = concat(list.size(), "_", kind_name(module));
    write_module(directory / folder, module);
    list.push_back(listed_json(list.size(), kind_name(module), folder));
  }
  const std::int64_t longest = sentence.max_seq_length;
  Json transformer{{"max_seq_length", longest > 0 ? Json(longest) : Json(nullptr)},
                   {"do_lower_case", sentence.do_lower_case}};
  if (sentence.model_type == kCrossEncoder) {
    transformer["transformer_task"] = "sequence-classification";
  }
  const auto write = [&](const char* name, const Json& json) {
    write_file_atomically(directory / name, formats::print_json(json, 2) + "\n");
  };
  write(kTransformerSettings.front(), transformer);
  write(kSettings, settings_json(sentence));
  write(kModules, list);
}

}  // namespace weft::checkpoint
