// SPDX-License-Identifier: Apache-2.0
// Files are read in pieces: weights need not fit into memory.
#include "weft/profile/model_digest.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "weft/core/files.h"
#include "weft/formats/sha256.h"

namespace weft::profile {
namespace {

bool is_of_the_model(const std::filesystem::path& file) {
  constexpr std::array<std::string_view, 4> kWeights = {".safetensors", ".bin", ".pt", ".pth"};
  const std::string name = file.filename().string();
  return name == "config.json" || name.ends_with(".index.json") ||
         std::any_of(kWeights.begin(), kWeights.end(), [&](std::string_view end) { return name.ends_with(end); });
}

void add_file(formats::Sha256& digest, const ModelFile& file) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const MappedFile content(file);
  const std::size_t size = content.bytes().size();
  digest.add_number(size);
  std::vector<std::byte> piece(std::min(size, kPiece));
  for (std::size_t begin = 0; begin < size; begin += kPiece) {
    const std::size_t count = std::min(kPiece, size - begin);
    content.read_at(begin, piece.data(), count);
    digest.add(piece.data(), count);
  }
}

}  // namespace

std::string model_digest(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(directory, unreadable)) {
    if (entry.is_regular_file(unreadable) && is_of_the_model(entry.path())) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  formats::Sha256 digest;
  for (const std::filesystem::path& file : files) {
    digest.add(file.filename().string());
    add_file(digest, ModelFile(directory, file.filename()));
  }
  return formats::hexadecimal(digest.digest());
}

}  // namespace weft::profile
