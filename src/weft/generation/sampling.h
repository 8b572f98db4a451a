// SPDX-License-Identifier: Apache-2.0
// From the logits of one position to a token: temperature, then top-k, then top-p, then one draw of a counter-based
// generator.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/core/fields.h"

namespace weft::generation {

/// How tokens are drawn; the field list below says what each field means and which values it takes.
struct SamplingConfig {
  std::int64_t max_new_tokens = 256;
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  std::int64_t seed = 0;
  std::vector<std::int64_t> stop_ids;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = SamplingConfig;
    visit(Field{"max_new_tokens", &C::max_new_tokens, "tokens to generate at most"}.range(0, 1 << 30));
    visit(Field{"temperature", &C::temperature, "divide the logits by this; 0 takes the likeliest token"}.range(0.0,
                                                                                                                1e6));
    visit(Field{"top_k", &C::top_k, "draw among the k likeliest tokens; 0 for all"}.at_least(0));
    visit(Field{"top_p", &C::top_p, "draw among the likeliest tokens, as many as have this probability together"}.range(
        0.0, 1.0));
    visit(Field{"seed", &C::seed, "random seed; the same seed draws the same text"});
    visit(Field{"stop_ids", &C::stop_ids, "ids of tokens that end the text"});
  }
};

/// A token that may be drawn.
struct Candidate {
  std::int64_t id;
  double probability;
};

/// The tokens that may be drawn, likeliest first (equal logits: lower id first), with probabilities that sum to 1:
/// softmax of logits / temperature, cut to the top_k likeliest, renormalised, then cut to the shortest prefix that
/// holds top_p (Holtzman et al. 2020), renormalised. `logits` [V] of any floating dtype. Temperature 0 leaves the
/// likeliest. Errors: kNumeric for NaN or nothing finite.
std::vector<Candidate> candidates(const at::Tensor& logits, const SamplingConfig& config);

/// The token at step `step`: the candidate where the cumulative probability passes a uniform draw of (config.seed,
/// step).
std::int64_t sample(const at::Tensor& logits, const SamplingConfig& config, std::int64_t step);

}  // namespace weft::generation
