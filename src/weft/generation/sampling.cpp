// SPDX-License-Identifier: Apache-2.0
// Candidates and draws.
#include "weft/generation/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::generation {
namespace {

/// Logits as candidates, still unnormalised, likeliest first; at most `count` of them.
std::vector<Candidate> likeliest(std::span<const double> logits, std::int64_t count) {
  std::vector<Candidate> all;
  for (const double logit : logits) {
    const bool usable = logit < std::numeric_limits<double>::infinity();  // also false for NaN
    if (!usable) {
      fail(ErrorKind::kNumeric, "the logit of token ", all.size(), " is ", logit,
           ": the model's weights hold NaN or infinity, or its numbers overflow");
    }
    all.push_back({static_cast<std::int64_t>(all.size()), logit});
  }
  // The id decides between equal logits, so that the order does not hang on the sort.
  const auto above = [](const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  };
  const auto size = static_cast<std::int64_t>(all.size());
  const std::int64_t kept = count > 0 ? std::min(count, size) : size;
  std::partial_sort(all.begin(), all.begin() + kept, all.end(), above);
  all.resize(static_cast<std::size_t>(kept));
  return all;
}

void normalize(std::vector<Candidate>& candidates) {
  double sum = 0.0;
  for (const Candidate& candidate : candidates) {
    sum += candidate.probability;
  }
  for (Candidate& candidate : candidates) {
    candidate.probability /= sum;
  }
}

// exp((logit - largest) / temperature), normalised: no exponent is positive, so that none overflows.
void softmax(std::vector<Candidate>& candidates, double temperature) {
  const double largest = candidates.front().probability;
  if (!std::isfinite(largest)) {
    fail(ErrorKind::kNumeric, "no token has a finite logit");
  }
  for (Candidate& candidate : candidates) {
    candidate.probability = std::exp((candidate.probability - largest) / temperature);
  }
  normalize(candidates);
}

// The shortest prefix that holds `mass`; one candidate stays whatever the mass is.
void cut_to_mass(std::vector<Candidate>& candidates, double mass) {
  double held = 0.0;
  std::size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || held < mass)) {
    held += candidates[kept++].probability;
  }
  candidates.resize(kept);
  normalize(candidates);
}

/// A double in [0, 1) from 53 random bits.
double uniform(std::int64_t seed, std::int64_t step) {
  const std::uint64_t bits = random_bits(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(step));
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace

std::vector<Candidate> candidates(const at::Tensor& logits, const SamplingConfig& config) {
  require(logits.dim() == 1 && logits.numel() > 0, "sampling needs the logits of one position, [vocabulary], found ",
          logits.sizes());
  // float64: the sum of a hundred thousand small probabilities decides where top_p cuts.
  const at::Tensor values = logits.detach().to(at::kCPU, at::kDouble).contiguous();
  const std::span<const double> all(values.const_data_ptr<double>(), static_cast<std::size_t>(values.numel()));
  const bool greedy = config.temperature == 0.0;
  std::vector<Candidate> result = likeliest(all, greedy ? 1 : config.top_k);
  softmax(result, greedy ? 1.0 : config.temperature);
  if (config.top_p < 1.0) {
    cut_to_mass(result, config.top_p);
  }
  return result;
}

std::int64_t sample(const at::Tensor& logits, const SamplingConfig& config, std::int64_t step) {
  const std::vector<Candidate> choices = candidates(logits, config);
  const double draw = uniform(config.seed, step);
  double passed = 0.0;
  for (const Candidate& choice : choices) {
    passed += choice.probability;
    if (draw < passed) {
      return choice.id;
    }
  }
  return choices.back().id;  // the probabilities summed to a little less than 1
}

}  // namespace weft::generation
