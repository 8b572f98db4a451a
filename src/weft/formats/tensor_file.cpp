// SPDX-License-Identifier: Apache-2.0
// Which reader a file of weights takes, and the lookup by name that all of them share.
#include "weft/formats/tensor_file.h"

#include <algorithm>
#include <numeric>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/pickle/torch_file.h"
#include "weft/formats/safetensors.h"

namespace weft::formats {

const TensorInfo* TensorFile::find(std::string_view name) const {
  const std::vector<TensorInfo>& all = tensors();
  const auto found =
      std::lower_bound(index_.begin(), index_.end(), name,
                       [&](std::size_t tensor, std::string_view wanted) { return all[tensor].name < wanted; });
  return found == index_.end() || all[*found].name != name ? nullptr : &all[*found];
}

void TensorFile::index_names() {
  // No hash: a file may choose its names so that they all fall into one bucket.
  const std::vector<TensorInfo>& all = tensors();
  index_.resize(all.size());
  std::iota(index_.begin(), index_.end(), std::size_t{0});
  std::stable_sort(index_.begin(), index_.end(),
                   [&](std::size_t left, std::size_t right) { return all[left].name < all[right].name; });
}

std::unique_ptr<TensorFile> open_tensor_file(const FilePlace& file) {
  const std::filesystem::path suffix = file.path().extension();
  if (suffix == ".bin" || suffix == ".pt" || suffix == ".pth") {
    return std::make_unique<TorchFile>(file);
  }
  return std::make_unique<SafetensorsFile>(file);
}

std::unique_ptr<TensorFile> open_tensor_directory(const std::filesystem::path& directory) {
  for (const char* name :
       {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    const ModelFile file(directory, name);
    if (file.exists()) {
      return file.path().extension() == ".json" ? open_sharded_tensors(file) : open_tensor_file(file);
    }
  }
  fail(ErrorKind::kIo, "cannot find weights in ", quote(directory.native(), 4096),
       ": there is no model.safetensors or pytorch_model.bin, nor an index of their shards");
}

}  // namespace weft::formats
