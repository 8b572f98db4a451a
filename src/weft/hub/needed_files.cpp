// SPDX-License-Identifier: Apache-2.0
// The four forms of weights, in the order in which formats/tensor_file.h looks for them.
#include "weft/hub/needed_files.h"

#include <algorithm>
#include <array>
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

constexpr std::array<std::string_view, 6> kTokenizerSigns{"tokenizer.json", "vocab.json", "vocab.txt",
                                                          "spiece.model",   "source.spm", "tokenizer.model"};

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

}  // namespace

std::vector<HubFile> needed_files(const std::vector<HubFile>& files, Need need, const std::string& model) {
  std::vector<HubFile> needed;
  std::ranges::copy_if(files, std::back_inserter(needed), [](const HubFile& file) { return is_small_file(file.path); });
  if (need == Need::kModel) {
    if (std::ranges::none_of(files, [](const HubFile& file) { return file.path == "config.json"; })) {
      fail_without("config.json", files, model);
    }
    const WeightForm* const form = form_of(files);
    if (form == nullptr) {
      fail_without("weights that Weft reads (model.safetensors, pytorch_model.bin)", files, model);
    }
    std::ranges::copy_if(files, std::back_inserter(needed),
                         [&](const HubFile& file) { return file.path == form->file || is_shard(*form, file.path); });
  }
  // An interrupted download leaves little to do, and a full disk shows with the large ones.
  std::ranges::stable_sort(needed, {}, &HubFile::size);
  return needed;
}

bool is_tokenizer_file(std::string_view name) {
  return std::ranges::find(kTokenizerSigns, name) != kTokenizerSigns.end();
}

Held held_files(const fs::path& snapshot, Need need) {
  const fs::path absent = snapshot.parent_path().parent_path() / ".no_exist" / snapshot.filename() / "tokenizer.json";
  const bool tokenizer = std::ranges::any_of(kTokenizerSigns, [&](auto name) { return is_held(snapshot / name); });
  const bool model = is_held(snapshot / "config.json") && has_weights(snapshot);
  if (need == Need::kTokenizer) {
    return tokenizer ? Held::kAll : Held::kNothing;
  }
  return !model ? Held::kNothing : tokenizer || is_held(absent) ? Held::kAll : Held::kModel;
}

}  // namespace weft::hub
