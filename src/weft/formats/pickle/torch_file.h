// SPDX-License-Identifier: Apache-2.0
// pytorch_model.bin: what torch.save wrote of a state dict, as a ZIP archive (since PyTorch 1.6) or as a row of pickles
// and raw storages (before). Nothing in it is ever run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/files.h"
#include "weft/formats/pickle/state_dict.h"
#include "weft/formats/tensor_file.h"

namespace weft::formats {

class TorchFile final : public TensorFile {
 public:
  /// Errors: kIo; kFormat naming the file and what is wrong: neither of the two forms, a TorchScript archive,
  /// big-endian data, names and instructions beyond the allow-list, storages that are missing or not of the size that
  /// is said.
  explicit TorchFile(const std::filesystem::path& path);

  const std::vector<TensorInfo>& tensors() const noexcept override { return infos_; }
  const std::filesystem::path& path() const noexcept override { return file_.path(); }
  std::span<const std::byte> bytes(const TensorInfo& tensor) const override;
  void read(const TensorInfo& tensor, void* destination) const override;

 private:
  using StorageOffset = std::function<std::uint64_t(const StoredTensor&)>;

  void open_zip(std::string_view where);
  void open_legacy(std::string_view where);
  void place(std::vector<StoredTensor> tensors, const StorageOffset& storage_offset);
  const StoredTensor& stored(const TensorInfo& tensor) const;

  MappedFile file_;
  std::vector<StoredTensor> stored_;
  std::vector<TensorInfo> infos_;
};

}  // namespace weft::formats
