// SPDX-License-Identifier: Apache-2.0
// Vectors of texts, or of the chunks of texts, gathered for one file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/formats/safetensors.h"

namespace weft::tasks {

/// The vectors of all texts, row by row; NaN in the rows of texts that have none.
class VectorTable {
 public:
  explicit VectorTable(formats::Metadata metadata) : metadata_(std::move(metadata)) {}

  void add(const std::vector<float>& vector);
  void add_none();
  std::int64_t rows() const noexcept { return rows_; }
  /// One array [texts, width], float32: "embeddings" of FILE.safetensors with the metadata, else FILE.npy. Errors: kIo.
  void write(const std::string& path) const;

 private:
  std::vector<float> values_;
  std::int64_t rows_ = 0;
  std::int64_t without_ = 0;  // of the rows, before the first that says the width
  formats::Metadata metadata_;
};

/// The chunks of all texts: "embeddings" [chunks, width], and of each the number of its text and its place there.
class ChunkTable {
 public:
  /// The chunks of the next text, as embed_chunks() gives them.
  void add(const formats::Json& chunks);
  /// The next text has none.
  void add_none() { ++texts_; }
  std::int64_t rows() const noexcept { return rows_; }
  /// A safetensors file. Errors: kIo.
  void write(const std::string& path, const formats::Metadata& metadata) const;

 private:
  static constexpr std::array kPlaces = {"start", "end", "byte_start", "byte_end", "tokens"};

  std::vector<float> vectors_;
  std::int64_t rows_ = 0;
  std::int64_t texts_ = 0;
  std::vector<std::int64_t> text_of_;
  std::array<std::vector<std::int64_t>, kPlaces.size()> places_;
};

}  // namespace weft::tasks
