// SPDX-License-Identifier: Apache-2.0
// Any bytes as model.safetensors.index.json beside two shards that have the tensors of a BERT of twelve layers: either
// a one-line error, or every tensor of the shards once, each read from where it lies.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support/tokenise.h"
#include "support/temporary_directory.h"
#include "weft/formats/safetensors.h"
#include "weft/formats/tensor_file.h"

namespace {

constexpr int kLayers = 12;
constexpr const char* kOfLayer[] = {"attention.self.query.weight",
                                    "attention.self.query.bias",
                                    "attention.self.key.weight",
                                    "attention.self.key.bias",
                                    "attention.self.value.weight",
                                    "attention.self.value.bias",
                                    "attention.output.dense.weight",
                                    "attention.output.dense.bias",
                                    "attention.output.LayerNorm.bias",
                                    "attention.output.LayerNorm.weight",
                                    "intermediate.dense.weight",
                                    "intermediate.dense.bias",
                                    "output.dense.weight",
                                    "output.dense.bias",
                                    "output.LayerNorm.bias",
                                    "output.LayerNorm.weight"};

// Tensor i of all is the one number i; those of the first half of the layers are in the first shard.
class Directory {
 public:
  Directory() {
    for (int layer = 0; layer < kLayers; ++layer) {
      for (const char* name : kOfLayer) {
        values_.push_back(static_cast<float>(values_.size()));
        names_.push_back("encoder.layer." + std::to_string(layer) + "." + name);
      }
    }
    const std::size_t half = names_.size() / 2;
    write("model-00001-of-00002.safetensors", 0, half);
    write("model-00002-of-00002.safetensors", half, names_.size());
  }

  std::size_t tensors() const { return names_.size(); }
  std::filesystem::path index() const { return folder_ / "model.safetensors.index.json"; }

 private:
  void write(const char* shard, std::size_t begin, std::size_t end) {
    std::vector<weft::formats::TensorSource> sources;
    for (std::size_t i = begin; i < end; ++i) {
      sources.push_back({names_[i], weft::formats::Dtype::F32, {1}, &values_[i]});
    }
    weft::formats::write_safetensors(folder_ / shard, sources);
  }

  weft::test::TemporaryDirectory folder_;
  std::vector<std::string> names_;
  std::vector<float> values_;
};

void read_all(const Directory& directory) {
  const auto file = weft::formats::open_sharded_tensors(directory.index());
  std::vector<bool> seen(directory.tensors());
  for (const weft::formats::TensorInfo& tensor : file->tensors()) {
    float value = -1;
    file->read(tensor, &value);
    const auto place = static_cast<std::size_t>(value);
    if (place >= seen.size() || seen[place]) {
      std::abort();
    }
    seen[place] = true;
  }
  if (file->tensors().size() != seen.size()) {
    std::abort();
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory directory;
  std::ofstream(directory.index(), std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  weft::fuzz::one_line_errors([] { read_all(directory); });
  return 0;
}
