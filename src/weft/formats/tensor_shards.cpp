// SPDX-License-Identifier: Apache-2.0
// Weights in several files under one index (`weight_map`: tensor name to file name). The index is believed in nothing:
// its file names stay in its directory, and it and the shards must agree in both directions.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/formats/tensor_file.h"

namespace weft::formats {
namespace {

namespace fs = std::filesystem;

template <typename... Parts>
[[noreturn]] void reject(const fs::path& index, const Parts&... parts) {
  fail(ErrorKind::kFormat, quote(index.native(), 4096), ": ", parts...);
}

// A name that can only be that of a file in the index's own directory, on any system.
void check_shard_name(const fs::path& index, const std::string& name) {
  // Separators of every system, and the colon of drives and streams.
  const bool control = std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
  if (name.empty() || name == "." || name == ".." || control || name.find_first_of("/\\:") != std::string::npos) {
    reject(index, "the shard name ", quote(name), " must be a plain file name in the same directory");
  }
}

using WeightMap = std::map<std::string, std::string>;  // tensor name to shard name

WeightMap read_weight_map(const FilePlace& place) {
  const Json json = read_json(place);
  const fs::path& index = place.path();
  const auto found = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_object() || found->empty()) {
    reject(index, "there must be an object 'weight_map' that names the file of every tensor");
  }
  WeightMap map;
  for (const auto& [name, shard] : found->items()) {
    if (!shard.is_string()) {
      reject(index, "weight_map: the file of ", quote(name), " must be a string, found ", shard.type_name());
    }
    check_shard_name(index, shard.get_ref<const std::string&>());
    map.emplace(name, shard.get<std::string>());
  }
  return map;
}

// "model-00001-of-00003.safetensors" as "model" and ".safetensors"; nothing for a name of another form. An index may
// name a shard by a megabyte, and std::regex would go a frame deeper with every byte.
std::optional<std::pair<std::string, std::string>> family_of(const std::string& name) {
  constexpr std::string_view kForm = "-00000-of-00000";
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot <= kForm.size() || dot + 1 == name.size()) {
    return std::nullopt;
  }
  const auto begin = name.begin() + static_cast<std::ptrdiff_t>(dot - kForm.size());
  const auto fits = [](char form, char c) { return form == '0' ? c >= '0' && c <= '9' : c == form; };
  const bool plain = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1, name.end(),
                                 [](char c) { return c >= 'a' && c <= 'z'; });
  if (!plain || !std::equal(kForm.begin(), kForm.end(), begin, fits)) {
    return std::nullopt;
  }
  return std::pair(name.substr(0, dot - kForm.size()), name.substr(dot));
}

// Refuses shards of the usual name that lie beside those of the index: they would be the rest of another, half-replaced
// set.
void check_no_surplus_shard(const fs::path& index, const std::set<std::string>& shards) {
  std::set<std::pair<std::string, std::string>> families;
  for (const std::string& shard : shards) {
    if (const auto family = family_of(shard)) {
      families.insert(*family);
    }
  }
  std::error_code error;
  const fs::path parent = index.parent_path();
  for (const auto& entry : fs::directory_iterator(parent.empty() ? fs::path(".") : parent, error)) {
    const std::string name = entry.path().filename().native();
    const auto family = family_of(name);
    if (family && !shards.contains(name) && families.contains(*family)) {
      reject(index, "the shard ", quote(name), " lies beside it but is not named in it");
    }
  }
}

class ShardedFile final : public TensorFile {
 public:
  explicit ShardedFile(const FilePlace& index) : path_(index.path()) {
    const WeightMap map = read_weight_map(index);
    std::set<std::string> shards;
    for (const auto& [name, shard] : map) {
      shards.insert(shard);
    }
    check_no_surplus_shard(path_, shards);
    for (const std::string& shard : shards) {
      add(map, shard);
    }
    index_names();
    // All tensors of all shards are known now; what the index names beyond them is missing.
    for (const auto& [name, shard] : map) {
      if (find(name) == nullptr) {
        reject(path_, "the tensor ", quote(name), " is missing from the shard ", quote(shard));
      }
    }
  }

  const std::vector<TensorInfo>& tensors() const noexcept override { return tensors_; }
  const fs::path& path() const noexcept override { return path_; }
  void read(const TensorInfo& tensor, void* destination) const override {
    const Place place = place_of(tensor);
    place.file->read(*place.tensor, destination);
  }
  std::span<const std::byte> bytes(const TensorInfo& tensor) const override {
    const Place place = place_of(tensor);
    return place.file->bytes(*place.tensor);
  }

 private:
  struct Place {
    const TensorFile* file;
    const TensorInfo* tensor;
  };

  std::unique_ptr<TensorFile> open_shard(const std::string& shard) const {
    const ModelFile file(path_.parent_path(), shard);
    if (!file.exists()) {
      fail(ErrorKind::kIo, quote(path_.native(), 4096), ": cannot open the shard ", quote(shard),
           ": No such file or directory");
    }
    try {
      return open_tensor_file(file);
    } catch (const Error& error) {
      throw Error(error.kind(), concat("a shard of ", quote(path_.native(), 4096), ": ", error.what()), error.hint());
    }
  }

  // Every tensor of a shard must be one that the index puts there.
  void add(const WeightMap& map, const std::string& shard) {
    files_.push_back(open_shard(shard));
    const TensorFile& file = *files_.back();
    for (const TensorInfo& tensor : file.tensors()) {
      const auto found = map.find(tensor.name);
      if (found == map.end()) {
        reject(path_, "the tensor ", quote(tensor.name), " of the shard ", quote(shard), " is not in weight_map");
      }
      if (found->second != shard) {
        reject(path_, "the tensor ", quote(tensor.name), " is in the shard ", quote(shard), ", but weight_map says ",
               quote(found->second));
      }
      places_.emplace(tensor.name, Place{&file, &tensor});
      tensors_.push_back(tensor);
    }
  }

  Place place_of(const TensorInfo& tensor) const {
    const auto found = places_.find(tensor.name);
    require(found != places_.end(), Quoted(path_.native(), 4096), " has no tensor ", Quoted(tensor.name));
    return found->second;
  }

  fs::path path_;
  std::vector<std::unique_ptr<TensorFile>> files_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string_view, Place> places_;
};

}  // namespace

std::unique_ptr<TensorFile> open_sharded_tensors(const FilePlace& index) {
  return std::make_unique<ShardedFile>(index);
}

}  // namespace weft::formats
