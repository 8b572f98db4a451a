// SPDX-License-Identifier: Apache-2.0
// modules.json says which folders there are, sentence_bert_config.json how long a text may be, and
// config_sentence_transformers.json which prompts a text may have.
#include "weft/checkpoint/sentence/sentence_settings.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "weft/core/disk/model_file.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"

namespace weft::checkpoint {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* kTransformer = "Transformer";

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
  const std::string where = concat(quoted_place(directory / kSentenceModules), ": module ", number);
  ListedModule listed;
  listed.kind = kind_of(formats::value_of<std::string>(entry, "type", where), where);
  listed.path = checked_folder(directory, formats::value_of<std::string>(entry, "path", where), where);
  listed.where = concat(where, " (", quote(listed.kind), ")");
  if (entry.contains("idx")) {
    const auto idx = formats::value_of<std::int64_t>(entry, "idx", where);
    if (idx <= last_idx) {
      throw Error(ErrorKind::kFormat, concat(where, ": idx must be more than ", last_idx, ", found ", idx),
                  "the modules run in the order of the list: put them in the order of idx");
    }
    last_idx = idx;
  }
  return listed;
}

}  // namespace

std::vector<ListedModule> read_sentence_list(const fs::path& directory) {
  const ModelFile file(directory, kSentenceModules);
  const Json json = formats::read_json(file);
  constexpr std::size_t kMost = 64;
  const std::string where = quoted_place(file.path());
  if (!json.is_array()) {
    formats::wrong_type(concat(where, ": the content"), "a list of modules", json);
  }
  if (json.empty()) {
    fail(ErrorKind::kFormat, where, ": expected a list of modules, found an empty list");
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

namespace {

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

void read_transformer_settings(const fs::path& directory, const fs::path& folder, SentenceSettings& sentence) {
  for (const char* name : kSentenceTransformerFiles) {
    const ModelFile file(directory, folder / name);
    const Json settings = file.exists() ? formats::read_json_object(file) : Json::object();
    if (settings.empty()) {
      continue;
    }
    const std::string where = quoted_place(file.path());
    check_transformer(settings, where, sentence.is_cross_encoder());
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

void read_prompts(const Json& settings, const std::string& where, SentenceSettings& sentence) {
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

void read_settings(const fs::path& directory, SentenceSettings& sentence) {
  const ModelFile file(directory, kSentenceSettings);
  if (!file.exists()) {
    return;
  }
  const Json settings = formats::read_json_object(file);
  const std::string where = quoted_place(file.path());
  sentence.library_class = said_or(settings, "model_type", where, sentence.library_class);
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

}  // namespace

std::string quoted_place(const fs::path& path) { return quote(path.native(), 4096); }

void require_folder(const fs::path& directory, const ListedModule& listed) {
  std::error_code error;
  const fs::path folder = directory / listed.path;
  const bool needs_nothing = listed.kind == "Normalize" || listed.kind == "Dropout";
  if (!needs_nothing && !fs::is_directory(folder, error)) {
    throw Error(ErrorKind::kFormat, concat(listed.where, ": its folder ", quoted_place(folder), " is not there"),
                "copy the directory whole; a model of the Hub comes whole with weft download NAME");
  }
}

bool is_sentence_directory(const fs::path& directory) { return ModelFile(directory, kSentenceModules).exists(); }

fs::path transformer_folder(const fs::path& directory) {
  if (!is_sentence_directory(directory)) {
    return directory;
  }
  const ListedModule transformer = read_sentence_list(directory).front();
  require_folder(directory, transformer);
  return transformer.path.empty() ? directory : directory / transformer.path;
}

SentenceSettings read_sentence_settings(const fs::path& directory, const std::vector<ListedModule>& list) {
  SentenceSettings sentence;
  read_settings(directory, sentence);
  if (!sentence.is_cross_encoder() && sentence.library_class != "SentenceTransformer") {
    throw Error(
        ErrorKind::kUnsupported,
        concat(quoted_place(directory / kSentenceSettings),
               ": model_type must be SentenceTransformer or CrossEncoder, found ", quote(sentence.library_class)),
        "sentence-transformers opens such a directory");
  }
  require_folder(directory, list.front());
  sentence.transformer = list.front().path.empty() ? directory : directory / list.front().path;
  read_transformer_settings(directory, list.front().path, sentence);
  return sentence;
}

}  // namespace weft::checkpoint
