// SPDX-License-Identifier: Apache-2.0
// Choices and draws in float64: the sum of a hundred thousand small probabilities decides where a draw falls.
#include "weft/generation/search/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/generation/processors/processor.h"

namespace weft::generation {
namespace {

// Draws without repetition of one step: the draw's number is in the lowest bits of the counter's upper half.
constexpr int kBitsOfDraw = 16;

/// A double in [0, 1) from 53 random bits.
double uniform(const DrawName& name, std::int64_t draw) {
  const std::uint64_t high = (static_cast<std::uint64_t>(name.row) << kBitsOfDraw) + static_cast<std::uint64_t>(draw);
  const std::uint64_t bits =
      random_bits(static_cast<std::uint64_t>(name.seed), static_cast<std::uint64_t>(name.step), high);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

struct Choice {
  std::int64_t id;
  double probability;
};

/// What may come, with probabilities that sum to 1, in the order of the ids.
std::vector<Choice> choices_of(std::span<const float> scores) {
  const double largest = scores[static_cast<std::size_t>(likeliest(scores))];
  std::vector<Choice> choices;
  double sum = 0.0;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] != kImpossible) {
      choices.push_back({static_cast<std::int64_t>(id), std::exp(scores[id] - largest)});
      sum += choices.back().probability;
    }
  }
  for (Choice& choice : choices) {
    choice.probability /= sum;
  }
  return choices;
}

/// Where the sum of the probabilities passes `point`; the last one where it ends a little below.
std::size_t where_passed(const std::vector<Choice>& choices, double point) {
  double passed = 0.0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    passed += choices[i].probability;
    if (point < passed) {
      return i;
    }
  }
  return choices.size() - 1;
}

}  // namespace

std::size_t first_part_above(std::span<const float> row, std::size_t id, float sum, float bound) {
  for (; id + kPartOfRow <= row.size(); id += kPartOfRow) {
    int above = 0;
    for (std::size_t i = id; i < id + kPartOfRow; ++i) {
      above |= static_cast<int>(!(row[i] + sum <= bound));  // also for NaN
    }
    if (above != 0) {
      break;
    }
  }
  return id;
}

std::int64_t likeliest(std::span<const float> scores) {
  std::size_t best = 0;
  float highest = kImpossible;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    id = id % kPartOfRow == 0 ? first_part_above(scores, id, 0.0F, highest) : id;
    if (id == scores.size()) {
      break;
    }
    if (!(scores[id] <= highest)) {  // also true for NaN
      best = id;
      highest = scores[id];
      if (!(highest < std::numeric_limits<float>::infinity())) {
        fail(ErrorKind::kNumeric, "the score of token ", id, " is ", highest,
             ": the model's weights hold NaN or infinity, or its numbers overflow");
      }
    }
  }
  if (highest == kImpossible) {
    fail(ErrorKind::kNumeric, "no token has a finite score: none may come");
  }
  return static_cast<std::int64_t>(best);
}

std::int64_t draw(std::span<const float> scores, const DrawName& name) {
  std::vector<Choice> choices = choices_of(scores);
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.probability > b.probability; });
  return choices[where_passed(choices, uniform(name, 0))].id;
}

std::vector<std::int64_t> draw_several(std::span<const float> scores, std::int64_t count, const DrawName& name) {
  std::vector<Choice> choices = choices_of(scores);
  std::erase_if(choices, [](const Choice& choice) { return choice.probability == 0.0; });
  std::vector<std::int64_t> drawn;
  double left = 1.0;
  while (std::ssize(drawn) < count && !choices.empty()) {
    const std::size_t chosen = where_passed(choices, uniform(name, std::ssize(drawn)) * left);
    drawn.push_back(choices[chosen].id);
    choices.erase(choices.begin() + static_cast<long>(chosen));
    left = 0.0;  // summed anew: differences of almost everything would lose what is left
    for (const Choice& choice : choices) {
      left += choice.probability;
    }
  }
  return drawn;
}

}  // namespace weft::generation
