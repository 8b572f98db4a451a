// SPDX-License-Identifier: Apache-2.0
// Tensors in a file by name, whatever the format: safetensors, PyTorch's own, or a directory's shards taken as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/disk/model_file.h"
#include "weft/formats/dtype.h"

namespace weft::formats {

/// LibTorch's limit on the dimensions of a tensor.
inline constexpr std::size_t kMaximumDimensions = 64;

/// What a file says about one tensor.
struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< where its bytes begin, as the format counts
  std::uint64_t end = 0;    ///< `end - begin` is their number, that of shape and dtype
};

class TensorFile {
 public:
  virtual ~TensorFile() = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  /// In the order of the file.
  virtual const std::vector<TensorInfo>& tensors() const noexcept = 0;
  /// Copies a tensor of this file: `end - begin` bytes, row-major without gaps, little-endian. Never touches mapped
  /// memory, so that a file that shrank is a kIo error. Several threads may read at once.
  virtual void read(const TensorInfo& tensor, void* destination) const = 0;
  /// The same bytes as they lie in the mapped file; nothing for a tensor that is stored with gaps or transposed. A file
  /// that shrank before the call is a kIo error; one that shrinks later is SIGBUS on touch, so prefer read() for files
  /// that others may write to.
  virtual std::span<const std::byte> bytes(const TensorInfo& tensor) const = 0;
  /// The file, or the index of a set of shards.
  virtual const std::filesystem::path& path() const noexcept = 0;

  /// The tensor of that name, or null.
  const TensorInfo* find(std::string_view name) const;

 protected:
  TensorFile() = default;
  /// For constructors, once tensors() is complete; its elements must stay where they are.
  void index_names();

 private:
  std::vector<std::size_t> index_;  // of tensors(), sorted by name
};

/// Opens one file of weights: PyTorch's format for the suffixes .bin, .pt and .pth, safetensors for others. Errors:
/// kIo, kFormat.
std::unique_ptr<TensorFile> open_tensor_file(const FilePlace& file);

/// Opens the weights of a model directory, the first of model.safetensors, model.safetensors.index.json,
/// pytorch_model.bin, pytorch_model.bin.index.json that is there, as `transformers` chooses. Errors: kIo, also when
/// none is there; kFormat.
std::unique_ptr<TensorFile> open_tensor_directory(const std::filesystem::path& directory);

/// Opens the shards that an index names, as one. Errors: kIo for a shard that is missing; kFormat for an index that is
/// malformed or names a file outside of its directory, for a tensor that a shard lacks, holds against the index or
/// holds as a second one, and for a shard beside the others that the index does not name.
std::unique_ptr<TensorFile> open_sharded_tensors(const FilePlace& index);

}  // namespace weft::formats
