// SPDX-License-Identifier: Apache-2.0
// The four forms of weights, in the order in which formats/tensor_file.h looks for them.
#include "weft/hub/needed_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"

namespace weft::hub {
namespace {

namespace fs = std::filesystem;

struct WeightForm {
  std::string_view file;   // the weights, or the index of their shards
  std::string_view begin;  // of a shard's name; empty for one file
  std::string_view end;
};

constexpr std::array kWeightForms{
    WeightForm{"model.safetensors", "", ""}, WeightForm{"model.safetensors.index.json", "model-", ".safetensors"},
    WeightForm{"pytorch_model.bin", "", ""}, WeightForm{"pytorch_model.bin.index.json", "pytorch_model-", ".bin"}};

constexpr std::array<std::string_view, 8> kTokenizerSigns{
    "tokenizer.json",          "vocab.json", "vocab.txt",       "spiece.model",
    "sentencepiece.bpe.model", "source.spm", "tokenizer.model", "spm.model"};

bool is_small_file(std::string_view name) {
  constexpr std::array<std::string_view, 4> kEnds{".json", ".txt", ".model", ".spm"};
  const bool index = name.ends_with(".index.json");
  return !index && std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

// "model-00001-of-00003.safetensors": "00001-of-00003" between begin and end.
bool is_shard(const WeightForm& form, std::string_view name) {
  const std::size_t around = form.begin.size() + form.end.size();
  if (form.begin.empty() || name.size() <= around || !name.starts_with(form.begin) || !name.ends_with(form.end)) {
    return false;
  }
  const std::string_view number = name.substr(form.begin.size(), name.size() - around);
  return number.find("-of-") != std::string_view::npos &&
         number.find_first_not_of("0123456789-of") == std::string_view::npos;
}

constexpr std::string_view kModules = "modules.json";
constexpr std::string_view kTransformer = "0_Transformer";

// "1_Pooling" of "1_Pooling/config.json", empty for a file of the repository itself; nothing for a file in another
// folder. This is how sentence-transformers names the folders of modules.
std::optional<std::string_view> module_folder(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) {
    return path.substr(0, 0);
  }
  const std::string_view folder = path.substr(0, slash);
  const std::size_t digits = folder.find_first_not_of("0123456789");
  const bool numbered = digits != std::string_view::npos && digits > 0 && folder[digits] == '_';
  return numbered && path.find('/', slash + 1) == std::string_view::npos ? std::optional(folder) : std::nullopt;
}

// The files by the folder that a module has; those of the repository itself under an empty name. Paths become names.
std::map<std::string, std::vector<HubFile>> by_module(const std::vector<HubFile>& files) {
  std::map<std::string, std::vector<HubFile>> folders;
  const bool modules = has_modules(files);
  for (const HubFile& file : files) {
    const std::optional<std::string_view> folder = module_folder(file.path);
    if (folder && (folder->empty() || modules)) {
      HubFile named = file;
      named.path = file.path.substr(folder->empty() ? 0 : folder->size() + 1);
      folders[std::string(*folder)].push_back(std::move(named));
    }
  }
  return folders;
}

const WeightForm* form_of(const std::vector<HubFile>& files) {
  for (const WeightForm& form : kWeightForms) {
    if (std::ranges::any_of(files, [&](const HubFile& file) { return file.path == form.file; })) {
      return &form;
    }
  }
  return nullptr;
}

[[noreturn]] void fail_without(std::string_view what, const std::vector<HubFile>& files, const std::string& model) {
  std::vector<std::string> names;
  std::ranges::transform(files, std::back_inserter(names), &HubFile::path);
  throw Error(ErrorKind::kFormat,
              concat("the repository ", quote(model), " has no ", what, ": found ",
                     names.empty() ? "no file" : quoted_list(names, 8)),
              "name a repository of a model in the form of transformers");
}

// Follows links: what they lead to must be a file.
bool is_held(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error);
}

// The shards that an index names, or nothing where it cannot be read: the door that reads the model says why.
std::optional<std::set<std::string>> shards_of(const fs::path& index) {
  try {
    std::set<std::string> names;
    const formats::Json json =
        formats::read_json(ModelFile(index.parent_path(), index.filename()));  // named, so that it outlives the loop
    for (const auto& [tensor, shard] : json.at("weight_map").items()) {
      names.insert(shard.get<std::string>());
    }
    return names;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool has_weights(const fs::path& snapshot) {
  for (const WeightForm& form : kWeightForms) {
    const fs::path file = snapshot / form.file;
    if (!is_held(file)) {
      continue;
    }
    if (form.begin.empty()) {
      return true;
    }
    const auto shards = shards_of(file);
    return !shards || std::ranges::all_of(*shards, [&](const std::string& name) { return is_held(snapshot / name); });
  }
  return false;
}

// Files of a folder, with their whole paths, behind those that are needed already.
template <typename Wanted>
void take_files(const std::string& folder, const std::vector<HubFile>& named, std::vector<HubFile>& needed,
                const Wanted& wanted) {
  for (const HubFile& file : named) {
    if (wanted(file.path)) {
      needed.push_back(file);
      needed.back().path = folder.empty() ? file.path : concat(folder, "/", file.path);
    }
  }
}

// Whether every module that modules.json lists is there. A list that cannot be read is whole: the door that reads it
// says what is wrong.
bool has_listed_modules(const fs::path& snapshot) {
  if (!is_held(snapshot / kModules)) {
    return true;
  }
  try {
    const formats::Json list = formats::read_json(ModelFile(snapshot, kModules));
    return std::all_of(list.begin(), list.end(), [&](const formats::Json& module) {
      const auto folder = module.at("path").get<std::string>();
      const auto type = module.at("type").get<std::string>();
      const bool needs_nothing = type.ends_with(".Normalize") || type.ends_with(".Dropout");
      const bool weighs = type.ends_with(".Dense") || type.ends_with(".LayerNorm");
      return needs_nothing ||
             (is_held(snapshot / folder / "config.json") && (!weighs || has_weights(snapshot / folder)));
    });
  } catch (const std::exception&) {
    return true;
  }
}

// The folder of the transformer: the snapshot, or one below it.
fs::path folder_of_config(const fs::path& snapshot) {
  const fs::path below = snapshot / kTransformer;
  return !is_held(snapshot / "config.json") && is_held(below / "config.json") ? below : snapshot;
}

}  // namespace

bool has_modules(const std::vector<HubFile>& files) {
  return std::ranges::any_of(files, [](const HubFile& file) { return file.path == kModules; });
}

std::vector<HubFile> needed_files(const std::vector<HubFile>& files, Need need, const std::string& model) {
  std::vector<HubFile> needed;
  std::vector<HubFile> large;
  bool config = false;
  bool weights = false;
  for (const auto& [folder, named] : by_module(files)) {
    const WeightForm* const form = need == Need::kModel ? form_of(named) : nullptr;
    take_files(folder, named, needed, is_small_file);
    if (form != nullptr) {
      take_files(folder, named, large,
                 [&](std::string_view name) { return name == form->file || is_shard(*form, name); });
    }
    const bool is_model = folder.empty() || folder == kTransformer;
    config = config || (is_model && std::ranges::find(named, "config.json", &HubFile::path) != named.end());
    weights = weights || (is_model && form != nullptr);
  }
  if (need == Need::kModel && !config) {
    fail_without("config.json", files, model);
  }
  if (need == Need::kModel && !weights) {
    fail_without("weights that Weft reads (model.safetensors, pytorch_model.bin)", files, model);
  }
  std::ranges::move(large, std::back_inserter(needed));
  // An interrupted download leaves little to do, and a full disk shows with the large ones.
  std::ranges::stable_sort(needed, {}, &HubFile::size);
  return needed;
}

bool is_tokenizer_file(std::string_view name) {
  return std::ranges::find(kTokenizerSigns, name) != kTokenizerSigns.end();
}

Held held_files(const fs::path& snapshot, Need need) {
  const fs::path absent = snapshot.parent_path().parent_path() / ".no_exist" / snapshot.filename() / "tokenizer.json";
  const fs::path folder = folder_of_config(snapshot);
  const bool tokenizer = std::ranges::any_of(kTokenizerSigns, [&](auto name) { return is_held(folder / name); });
  const bool model = is_held(folder / "config.json") && has_weights(folder) && has_listed_modules(snapshot);
  if (need == Need::kTokenizer) {
    return tokenizer ? Held::kAll : Held::kNothing;
  }
  return !model ? Held::kNothing : tokenizer || is_held(absent) ? Held::kAll : Held::kModel;
}

}  // namespace weft::hub
