// SPDX-License-Identifier: Apache-2.0
// A text without a vector is a row of NaN, so that the rows of a file are the texts that were read.
#include "weft/tasks/embedding/vector_files.h"

#include <cstddef>
#include <limits>
#include <span>

#include "weft/formats/npy.h"
#include "weft/readers/input/file_kind.h"

namespace weft::tasks {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

}  // namespace

void VectorTable::add(const std::vector<float>& vector) {
  values_.insert(values_.end(), static_cast<std::size_t>(without_) * vector.size(), kNone);
  without_ = 0;
  values_.insert(values_.end(), vector.begin(), vector.end());
  ++rows_;
}

void VectorTable::add_none() {
  if (values_.empty()) {
    ++without_;
  } else {
    values_.insert(values_.end(), values_.size() / static_cast<std::size_t>(rows_), kNone);
  }
  ++rows_;
}

void VectorTable::write(const std::string& path) const {
  const std::vector<std::int64_t> shape{rows_, rows_ == 0 ? 0 : static_cast<std::int64_t>(values_.size()) / rows_};
  if (readers::small_ending(path, false) == ".npy") {
    formats::write_npy(path, formats::Dtype::F32, shape, std::as_bytes(std::span(values_)));
    return;
  }
  const formats::TensorSource tensor{"embeddings", formats::Dtype::F32, shape, values_.data()};
  formats::write_safetensors(path, {&tensor, 1}, metadata_);
}

void ChunkTable::add(const formats::Json& chunks) {
  for (const formats::Json& chunk : chunks) {
    for (const formats::Json& value : chunk["embedding"]) {
      vectors_.push_back(value.get<float>());
    }
    for (std::size_t i = 0; i < kPlaces.size(); ++i) {
      places_[i].push_back(chunk[kPlaces[i]].get<std::int64_t>());
    }
    text_of_.push_back(texts_);
    ++rows_;
  }
  ++texts_;
}

void ChunkTable::write(const std::string& path, const formats::Metadata& metadata) const {
  const std::vector<std::int64_t> length{rows_};
  std::vector<formats::TensorSource> tensors;
  tensors.push_back({"embeddings",
                     formats::Dtype::F32,
                     {rows_, rows_ == 0 ? 0 : static_cast<std::int64_t>(vectors_.size()) / rows_},
                     vectors_.data()});
  tensors.push_back({"text", formats::Dtype::I64, length, text_of_.data()});
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    tensors.push_back({kPlaces[i], formats::Dtype::I64, length, places_[i].data()});
  }
  formats::write_safetensors(path, tensors, metadata);
}

}  // namespace weft::tasks
