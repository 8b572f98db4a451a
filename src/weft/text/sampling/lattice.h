// SPDX-License-Identifier: Apache-2.0
// The pieces of a unigram model, and a segmentation of a word drawn from all that they allow (Kudo 2018, section 3.3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/text/sampling/drawn_tokens.h"

namespace weft::text {

class Pieces {
 public:
  /// From the "model" of a tokenizer.json of type Unigram.
  explicit Pieces(const formats::Json& model);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(texts_.size()); }
  const std::string& text(std::int64_t id) const { return texts_[static_cast<std::size_t>(id)]; }
  /// The token that stands for what no piece has, or -1.
  std::int64_t unknown() const noexcept { return unknown_; }
  /// One of the ways to write `word` in pieces, each with a probability in proportion to the product of those of its
  /// pieces to the power of `alpha`. Empty where there is none.
  std::vector<SizedToken> segment(std::string_view word, double alpha, Draws& draws) const;

 private:
  struct Edge {
    std::int64_t id;
    std::size_t begin;
    double weight;  // log of everything that ends with this piece
  };
  std::vector<Edge> ending_at(std::string_view word, std::size_t end, double alpha,
                              const std::vector<double>& log_sums) const;

  std::vector<std::string> texts_;
  std::vector<double> scores_;
  std::unordered_map<std::string_view, std::int64_t> ids_;  // of texts_
  std::size_t longest_ = 0;
  std::int64_t unknown_ = -1;
};

}  // namespace weft::text
