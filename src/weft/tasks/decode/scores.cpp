// SPDX-License-Identifier: Apache-2.0
// Sums in float64: over 50,000 tokens float32 would lose the sixth digit.
#include "weft/tasks/decode/scores.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::tasks {
namespace {

// Indices out of `among`, best first, cut to `count`.
std::vector<Scored> ranked(std::span<const double> scores, std::vector<std::int64_t> among, std::int64_t count) {
  const std::size_t kept = count <= 0 ? among.size() : std::min(among.size(), static_cast<std::size_t>(count));
  const auto better = [&](std::int64_t left, std::int64_t right) {
    const double first = scores[static_cast<std::size_t>(left)];
    const double second = scores[static_cast<std::size_t>(right)];
    return first != second ? first > second : left < right;
  };
  std::partial_sort(among.begin(), among.begin() + static_cast<std::ptrdiff_t>(kept), among.end(), better);
  std::vector<Scored> result;
  result.reserve(kept);
  for (std::size_t rank = 0; rank < kept; ++rank) {
    result.push_back({among[rank], scores[static_cast<std::size_t>(among[rank])]});
  }
  return result;
}

// By the exponent alone, which compilers do for many numbers at once: states of a long text are millions.
bool has_only_finite(const float* begin, const float* end) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t wrong = 0;
  for (const float* value = begin; value != end; ++value) {
    wrong |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(*value) & kExponent) == kExponent);
  }
  return wrong == 0;
}

bool are_finite(std::span<const float> values) {
  constexpr std::int64_t kOfAThread = std::int64_t{1} << 16;
  std::atomic<bool> finite{true};
  at::parallel_for(0, std::ssize(values), kOfAThread, [&](std::int64_t begin, std::int64_t end) {
    if (!has_only_finite(values.data() + begin, values.data() + end)) {
      finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace

void require_finite(std::span<const float> logits) {
  if (are_finite(logits)) {
    return;
  }
  const auto wrong = std::find_if_not(logits.begin(), logits.end(), [](float value) { return std::isfinite(value); });
  fail(ErrorKind::kNumeric, "the model's output ", wrong - logits.begin(), " of ", logits.size(), " is ", *wrong,
       ", expected finite numbers");
}

std::vector<double> softmax(std::span<const float> logits) {
  require_finite(logits);
  return softmax_of_doubles(std::vector<double>(logits.begin(), logits.end()));
}

std::vector<double> softmax_of_doubles(std::span<const double> logits) {
  std::vector<double> scores(logits.begin(), logits.end());
  if (scores.empty()) {
    return scores;
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = std::exp(score - largest);
    sum += score;
  }
  for (double& score : scores) {
    score /= sum;
  }
  return scores;
}

double sigmoid(double logit) noexcept { return 1 / (1 + std::exp(-logit)); }

ScoreFunction score_function(std::string_view name, std::string_view problem_type, std::int64_t labels) {
  if (name == "softmax") {
    return ScoreFunction::kSoftmax;
  }
  if (name == "sigmoid") {
    return ScoreFunction::kSigmoid;
  }
  if (name == "none") {
    return ScoreFunction::kNone;
  }
  require(name == "default", "the function must be default, softmax, sigmoid or none, found ", Quoted(name));
  if (problem_type == "regression") {
    return ScoreFunction::kNone;
  }
  const bool separate = problem_type == "multi_label_classification" || labels == 1;
  return separate ? ScoreFunction::kSigmoid : ScoreFunction::kSoftmax;
}

std::string_view to_string(ScoreFunction function) noexcept {
  switch (function) {
    case ScoreFunction::kSoftmax:
      return "softmax";
    case ScoreFunction::kSigmoid:
      return "sigmoid";
    case ScoreFunction::kNone:
      break;
  }
  return "none";
}

std::vector<double> label_scores(std::span<const float> logits, ScoreFunction function) {
  if (function == ScoreFunction::kSoftmax) {
    return softmax(logits);
  }
  require_finite(logits);
  std::vector<double> scores(logits.begin(), logits.end());
  if (function == ScoreFunction::kSigmoid) {
    std::transform(scores.begin(), scores.end(), scores.begin(), sigmoid);
  }
  return scores;
}

std::vector<Scored> best(std::span<const double> scores, std::int64_t count) {
  std::vector<std::int64_t> all(scores.size());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return ranked(scores, std::move(all), count);
}

std::vector<Scored> best_tokens(std::span<const float> logits, const TokenChoice& choice) {
  const std::vector<double> scores = softmax(logits);
  const auto rows = static_cast<std::int64_t>(scores.size());
  std::vector<std::int64_t> among(choice.targets.begin(), choice.targets.end());
  for (const std::int64_t target : among) {
    require(target >= 0 && target < rows, "the target ", target, " is no id of a vocabulary of ", rows);
  }
  std::sort(among.begin(), among.end());
  among.erase(std::unique(among.begin(), among.end()), among.end());
  if (among.empty()) {
    const std::int64_t sayable = choice.vocabulary > 0 ? std::min(choice.vocabulary, rows) : rows;
    among.resize(static_cast<std::size_t>(sayable));
    std::iota(among.begin(), among.end(), std::int64_t{0});
  }
  return ranked(scores, std::move(among), choice.count);
}

}  // namespace weft::tasks
