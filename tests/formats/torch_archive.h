// SPDX-License-Identifier: Apache-2.0
// PyTorch's files written by hand: pickles from instructions, stored ZIP archives, and both lying where a test says so.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::formats {

template <typename Integer>
std::string little(Integer value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

inline std::string pickle_text(std::string_view text) {
  return "X" + little(static_cast<std::uint32_t>(text.size())) + std::string(text);
}
inline std::string pickle_integer(std::int64_t value) { return "\x8a\x08" + little(value); }
inline std::string pickle_global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string pickle_tuple(const std::vector<std::string>& items) {
  std::string text = "(";
  for (const std::string& item : items) {
    text += item;
  }
  return text + "t";
}
inline std::string pickle_integers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  items.reserve(values.size());
  for (const std::int64_t value : values) {
    items.push_back(pickle_integer(value));
  }
  return pickle_tuple(items);
}

/// What describes one float32 tensor.
struct PickledTensor {
  std::vector<std::int64_t> shape{4};
  std::vector<std::int64_t> strides{1};
  std::int64_t offset = 0;
  std::int64_t storage_elements = 4;
  std::string key = "0";
  std::string type = "FloatStorage";
};

inline std::string pickled(const PickledTensor& tensor) {
  const std::string storage =
      pickle_tuple({pickle_text("storage"), pickle_global("torch", tensor.type), pickle_text(tensor.key),
                    pickle_text("cpu"), pickle_integer(tensor.storage_elements)}) +
      "Q";
  const std::string arguments =
      pickle_tuple({storage, pickle_integer(tensor.offset), pickle_integers(tensor.shape),
                    pickle_integers(tensor.strides), "\x89", pickle_global("collections", "OrderedDict") + ")R"});
  return pickle_global("torch._utils", "_rebuild_tensor_v2") + arguments + "R";
}

/// A whole pickle: a dict of these names and pickled values.
inline std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string text = "\x80\x02}(";
  for (const auto& [name, value] : entries) {
    text += pickle_text(name) + value;
  }
  return text + "u.";
}

struct ZipEntry {
  std::string name;
  std::string content;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint32_t claimed_size = 0;  ///< instead of the content's, when not 0
  std::int64_t claimed_offset = -1;
  std::uint32_t checksum = 0;  ///< 0 is left out, as torch.save can be told to
};

/// A stored ZIP archive, as honest as its entries.
inline std::string zip_archive(const std::vector<ZipEntry>& entries) {
  std::string file;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    const auto size = entry.claimed_size != 0 ? entry.claimed_size : static_cast<std::uint32_t>(entry.content.size());
    const auto position = static_cast<std::uint32_t>(
        entry.claimed_offset >= 0 ? entry.claimed_offset : static_cast<std::int64_t>(file.size()));
    const std::string common = little<std::uint16_t>(20) + little(entry.flags) + little(entry.method) +
                               std::string(4, '\0') + little(entry.checksum) + little(size) + little(size) +
                               little(static_cast<std::uint16_t>(entry.name.size())) + little<std::uint16_t>(0);
    file += "PK\3\4" + common + entry.name + entry.content;
    directory += std::string("PK\1\2") + little<std::uint16_t>(20) + common + std::string(10, '\0') + little(position) +
                 entry.name;
  }
  const auto count = static_cast<std::uint16_t>(entries.size());
  return file + directory + "PK\5\6" + std::string(4, '\0') + little(count) + little(count) +
         little(static_cast<std::uint32_t>(directory.size())) + little(static_cast<std::uint32_t>(file.size())) +
         std::string(2, '\0');
}

/// An archive of PyTorch's with that pickle and storage "0" of `storage_bytes` bytes.
inline std::string torch_archive(const std::string& pickle, std::size_t storage_bytes = 16) {
  return zip_archive({{"archive/data.pkl", pickle}, {"archive/data/0", std::string(storage_bytes, '\1')}});
}

}  // namespace weft::formats
