// SPDX-License-Identifier: Apache-2.0
// Which reader a file of weights takes, and the lookup by name that all of them share.
#include "weft/formats/tensor_file.h"

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/pickle/torch_file.h"
#include "weft/formats/safetensors.h"

namespace weft::formats {

const TensorInfo* TensorFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors()[found->second];
}

void TensorFile::index_names() {
  index_.reserve(tensors().size());
  for (std::size_t i = 0; i < tensors().size(); ++i) {
    index_.emplace(tensors()[i].name, i);
  }
}

std::unique_ptr<TensorFile> open_tensor_file(const std::filesystem::path& path) {
  const std::filesystem::path suffix = path.extension();
  if (suffix == ".bin" || suffix == ".pt" || suffix == ".pth") {
    return std::make_unique<TorchFile>(path);
  }
  return std::make_unique<SafetensorsFile>(path);
}

std::unique_ptr<TensorFile> open_tensor_directory(const std::filesystem::path& directory) {
  for (const char* name :
       {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    const std::filesystem::path file = directory / name;
    // A link that leads nowhere is there: opening it says so.
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(file, error))) {
      continue;
    }
    return file.extension() == ".json" ? open_sharded_tensors(file) : open_tensor_file(file);
  }
  fail(ErrorKind::kIo, "cannot find weights in ", quote(directory.native(), 4096),
       ": there is no model.safetensors or pytorch_model.bin, nor an index of their shards");
}

}  // namespace weft::formats
