// SPDX-License-Identifier: Apache-2.0
// safetensors files (format: github.com/huggingface/safetensors), without Torch. The reader trusts nothing in the file;
// the writer lays tensors out as the reference does, and atomically.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/files.h"
#include "weft/formats/tensor_file.h"

namespace weft::formats {

/// The reference's limit on the header, in bytes.
inline constexpr std::uint64_t kMaximumSafetensorsHeader = 100'000'000;

/// The free text of a header, sorted by key.
using Metadata = std::map<std::string, std::string>;

/// What a header says, checked: every tensor's size is that of its shape and dtype, and the tensors cover the data
/// without hole or overlap.
struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  ///< in the order of their data
  Metadata metadata;                ///< `__metadata__`
};

/// Reads a header's JSON for a file that has `data_bytes` bytes behind it. Errors: kFormat naming `where`, the tensor
/// and the rule.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes, std::string_view where);

/// A safetensors file, memory-mapped. Errors of the constructor: kIo, kFormat.
class SafetensorsFile final : public TensorFile {
 public:
  explicit SafetensorsFile(const FilePlace& file);

  /// In the order of their data; `begin` counts from the end of the header.
  const std::vector<TensorInfo>& tensors() const noexcept override { return header_.tensors; }
  const Metadata& metadata() const noexcept { return header_.metadata; }
  const std::filesystem::path& path() const noexcept override { return file_.path(); }
  std::span<const std::byte> bytes(const TensorInfo& tensor) const override;
  void read(const TensorInfo& tensor, void* destination) const override;

 private:
  MappedFile file_;
  std::uint64_t data_offset_ = 0;
  SafetensorsHeader header_;
};

/// A tensor to write: contiguous, row-major, little-endian. `data` may be null when the shape has no elements.
struct TensorSource {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};

/// Writes `tensors` to `path` atomically: largest alignment first, then by name; the data starts at a multiple of 8
/// bytes. `format: pt` is added to the metadata unless it names a format. Errors: kArgument for repeated names, bad
/// shapes or text that is not UTF-8; kIo.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors,
                       const Metadata& metadata = {});

}  // namespace weft::formats
