// SPDX-License-Identifier: Apache-2.0
// Passages by what they mean: the greatest dot products with the vector of a question, exact. All codes of 8 bits are
// in memory and scanned. Each gives a product and how far that may be from the true one; whatever could be among the
// best by these bounds is compared by its float32 numbers, which are read from the file, so that nothing is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/store/hit.h"
#include "weft/store/store.h"

namespace weft::store {

/// The vector of a passage.
struct PassageVector {
  std::int64_t passage = 0;
  std::vector<float> numbers;
};

/// Writes vectors in one transaction; of a passage that is not there any more nothing is written. Vectors of cosine are
/// scaled to length 1, unless they are 0. Errors: kArgument for another width than `space` has; kNumeric; as Store.
void write_vectors(Store& store, const VectorSpace& space, std::span<const PassageVector> vectors);

class VectorIndex {
 public:
  /// Reads the codes, a byte a number: 100,000 vectors of 384 numbers take 40 MB. The store must not be changed, nor
  /// closed, before this is destroyed. Errors: kArgument for a store that has no vectors, and for one where passages
  /// have none; kFormat.
  explicit VectorIndex(Store& store);

  /// The `count` passages whose vectors have the greatest products with `question`, best first, with these products
  /// (the cosine where the space is that). Errors: kArgument for another width; kNumeric.
  std::vector<Hit> search(std::span<const float> question, std::size_t count);

  /// Vectors that the last search compared by their float32 numbers.
  std::size_t compared() const noexcept { return compared_; }

 private:
  /// What a code says of a product.
  struct Bounds {
    double low = 0.0;
    double high = 0.0;
  };
  void read_codes(Database& database);
  std::vector<Bounds> bounds(std::span<const float> question) const;
  double exact(Statement& rows, std::int64_t passage, std::span<const float> question);

  Store* store_;
  VectorSpace space_;
  std::vector<std::int64_t> numbers_;  // of passages, ascending
  std::vector<std::int8_t> codes_;     // [passages, width]
  std::vector<double> scales_;
  std::vector<double> errors_;
  std::vector<double> lengths_;  // of the coded vectors
  std::vector<float> row_;
  std::size_t compared_ = 0;
};

/// `vector` scaled to length 1; as it is where its length is 0.
void scale_to_one(std::span<float> vector);

}  // namespace weft::store
