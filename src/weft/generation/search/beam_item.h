// SPDX-License-Identifier: Apache-2.0
// One prompt in a beam search: the texts that go on, the best finished ones, and when nothing better can come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/generation/search/scores.h"

namespace weft::generation {

/// A text that goes on.
struct Beam {
  Ids tokens;               ///< prompt included
  float score = 0.0F;       ///< the sum of its tokens' scores, float32 as in `transformers`, so that ties are the same
  std::int64_t parent = 0;  ///< which beam of the step before it continues
};

/// A search with n = num_beams. A step looks at K = max(2, 1 + the number of ends) n candidates, the likeliest ones or
/// drawn ones. A candidate that ends is a result if it is among the first n, and is dropped otherwise; the n best
/// that do not end go on.
class BeamItem {
 public:
  BeamItem(const SearchPlan& plan, std::int64_t number);

  std::int64_t number() const noexcept { return number_; }
  const std::vector<Beam>& beams() const noexcept { return beams_; }
  bool done() const noexcept { return done_; }
  /// New tokens that all its texts begin with, while it is not done.
  std::span<const std::int64_t> settled() const;

  /// One token more, from processed scores of all beams, rows [first, first + beams().size()) of `scores` [R, V].
  /// Errors: kNumeric for NaN and infinity.
  void step(const at::Tensor& scores, std::int64_t first, std::int64_t made);
  /// Ends it where it is: what goes on counts as finished.
  void stop(FinishReason reason);
  /// The num_return_sequences best texts, best first.
  std::vector<Sequence> results() const;

 private:
  struct Candidate {
    float score;
    std::size_t beam;
    std::int64_t id;
  };

  std::vector<Candidate> best_candidates(const at::Tensor& scores, std::int64_t first) const;
  std::vector<Candidate> drawn_candidates(const at::Tensor& scores, std::int64_t first, std::int64_t made) const;
  bool ends(const Ids& tokens, FinishReason& reason) const;
  void finish(Sequence text, std::int64_t length);
  double divisor(std::int64_t length) const;
  void decide(std::int64_t made);

  const SearchPlan& plan_;
  std::int64_t number_;
  std::size_t width_;       // n
  std::size_t candidates_;  // K
  std::vector<Beam> beams_;
  std::vector<Sequence> finished_;  // at most n, best first
  bool done_ = false;
};

}  // namespace weft::generation
