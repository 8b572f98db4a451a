// SPDX-License-Identifier: Apache-2.0
// pytorch_model.bin: what torch.save wrote of a state dict, as a ZIP archive (since PyTorch 1.6) or as a row of pickles
// and raw storages (before). Nothing in it is ever run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/core/files.h"
#include "weft/formats/pickle/state_dict.h"
#include "weft/formats/pickle/zip_archive.h"
#include "weft/formats/tensor_file.h"

namespace weft::formats {

/// A pickle, and the bytes that its texts point into.
struct PickledObject {
  std::unique_ptr<const std::string> bytes;
  PickleValues pickle;
};

/// What torch.save wrote into a file of either form, without its storages. Errors: kIo, kFormat as TorchFile's.
PickledObject read_torch_object(const FilePlace& place);

class TorchFile final : public TensorFile {
 public:
  /// Errors: kIo; kFormat naming the file and what is wrong: neither of the two forms, a TorchScript archive,
  /// big-endian data, names and instructions beyond the allow-list, a pickle against its checksum, storages that are
  /// missing or not of the size that is said. Reading a tensor holds its storage to the checksum, once: kFormat.
  explicit TorchFile(const FilePlace& file);

  const std::vector<TensorInfo>& tensors() const noexcept override { return infos_; }
  const std::filesystem::path& path() const noexcept override { return file_.path(); }
  std::span<const std::byte> bytes(const TensorInfo& tensor) const override;
  void read(const TensorInfo& tensor, void* destination) const override;

 private:
  using StorageOffset = std::function<std::uint64_t(const StoredTensor&)>;
  // A storage of an archive, whose checksum is looked at by the first thread that reads from it.
  struct CheckedStorage {
    ZipMember member;
    std::unique_ptr<std::once_flag> checked = std::make_unique<std::once_flag>();
  };

  void open_zip(std::string_view where);
  void open_legacy(std::string_view where);
  void place(std::vector<StoredTensor> tensors, const StorageOffset& storage_offset);
  const StoredTensor& stored(const TensorInfo& tensor) const;
  void check_storage(const StoredTensor& tensor) const;

  MappedFile file_;
  std::vector<StoredTensor> stored_;
  std::vector<TensorInfo> infos_;
  std::unordered_map<std::string, CheckedStorage> storages_;  // by key; none in the form before ZIP
};

}  // namespace weft::formats
