// SPDX-License-Identifier: Apache-2.0
// Cuts by rank, probability and entropy.
#include "weft/generation/processors/cuts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::generation {
namespace {

/// A token that may still come.
struct Ranked {
  std::size_t id;
  double probability;
};

/// The tokens that may still come, likeliest first (of equal ones the lower id), with probabilities that sum to 1.
// In float64: sums over a hundred thousand small probabilities decide where a cut is.
std::vector<Ranked> ranked(std::span<const float> scores) {
  std::vector<Ranked> choices;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] != kImpossible) {
      choices.push_back({id, scores[id]});
    }
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Ranked& a, const Ranked& b) { return a.probability > b.probability; });
  const double largest = choices.empty() ? 0.0 : choices.front().probability;
  double sum = 0.0;
  for (Ranked& choice : choices) {
    choice.probability = std::exp(choice.probability - largest);
    sum += choice.probability;
  }
  for (Ranked& choice : choices) {
    choice.probability /= sum;
  }
  return choices;
}

double entropy_of(const std::vector<Ranked>& choices, std::size_t count) {
  double entropy = 0.0;
  for (std::size_t i = 0; i < std::min(count, choices.size()); ++i) {
    const double p = choices[i].probability;
    entropy -= p > 0.0 ? p * std::log(p) : 0.0;
  }
  return entropy;
}

/// Removes all from the `kept`-th choice on, but keeps `least` of them.
void cut_behind(std::span<float> scores, const std::vector<Ranked>& choices, std::size_t kept, std::int64_t least) {
  for (std::size_t i = std::max(kept, static_cast<std::size_t>(least)); i < choices.size(); ++i) {
    scores[choices[i].id] = kImpossible;
  }
}

/// How many of the choices, which come likeliest first, have at least this probability.
std::size_t count_from(const std::vector<Ranked>& choices, double bound) {
  const auto below = std::find_if(choices.begin(), choices.end(),
                                  [bound](const Ranked& choice) { return choice.probability < bound; });
  return static_cast<std::size_t>(below - choices.begin());
}

/// The smallest number of choices that holds more than `mass`, in the order given.
std::size_t count_to_mass(const std::vector<Ranked>& choices, double mass) {
  double held = 0.0;
  std::size_t count = 0;
  while (count < choices.size() && held < mass) {
    held += choices[count++].probability;
  }
  return count;
}

}  // namespace

Processor divide_by(double temperature) {
  return [temperature](const RowScores& row) {
    const float largest = *std::max_element(row.scores.begin(), row.scores.end());
    // A tiny temperature would make infinities: then differences are divided, which draws the same.
    const bool overflows = std::abs(static_cast<double>(largest)) / temperature > std::numeric_limits<float>::max();
    const float shift = overflows && std::isfinite(largest) ? largest : 0.0F;
    for (float& score : row.scores) {
      score = static_cast<float>((score - shift) / temperature);
    }
  };
}

Processor keep_top_k(std::int64_t k) {
  return [k](const RowScores& row) {
    if (k >= std::ssize(row.scores)) {
      return;
    }
    std::vector<float> sorted(row.scores.begin(), row.scores.end());
    std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater<>());
    const float last = sorted[static_cast<std::size_t>(k - 1)];
    std::replace_if(row.scores.begin(), row.scores.end(), [last](float score) { return score < last; }, kImpossible);
  };
}

Processor keep_top_p(double mass, std::int64_t least) {
  return [mass, least](const RowScores& row) {
    const std::vector<Ranked> choices = ranked(row.scores);
    cut_behind(row.scores, choices, count_to_mass(choices, mass), least);
  };
}

Processor keep_min_p(double part, std::int64_t least) {
  return [part, least](const RowScores& row) {
    const std::vector<Ranked> choices = ranked(row.scores);
    if (!choices.empty()) {
      cut_behind(row.scores, choices, count_from(choices, part * choices.front().probability), least);
    }
  };
}

Processor keep_top_h(double part) {
  return [part](const RowScores& row) {
    constexpr std::size_t kRanks = 100;
    std::vector<Ranked> choices = ranked(row.scores);
    const std::vector<Ranked> all = choices;
    choices.resize(std::min(kRanks, choices.size()));
    double sum = 0.0;
    for (const Ranked& choice : choices) {
      sum += choice.probability;
    }
    for (Ranked& choice : choices) {
      choice.probability /= sum;
    }
    const double bound = part * entropy_of(choices, choices.size());
    std::size_t kept = 1;
    while (kept < choices.size() && entropy_of(choices, kept + 1) <= bound) {
      ++kept;
    }
    cut_behind(row.scores, all, kept, 1);
  };
}

Processor keep_typical(double mass, std::int64_t least) {
  return [mass, least](const RowScores& row) {
    std::vector<Ranked> choices = ranked(row.scores);
    const double entropy = entropy_of(choices, choices.size());
    const auto distance = [entropy](const Ranked& choice) { return std::abs(-std::log(choice.probability) - entropy); };
    std::stable_sort(choices.begin(), choices.end(),
                     [&](const Ranked& a, const Ranked& b) { return distance(a) < distance(b); });
    std::size_t kept = count_to_mass(choices, mass);
    // Those as near as the last one stay too.
    while (kept > 0 && kept < choices.size() && distance(choices[kept]) <= distance(choices[kept - 1])) {
      ++kept;
    }
    cut_behind(row.scores, choices, kept, least);
  };
}

Processor keep_epsilon(double epsilon, std::int64_t least) {
  return [epsilon, least](const RowScores& row) {
    const std::vector<Ranked> choices = ranked(row.scores);
    cut_behind(row.scores, choices, count_from(choices, epsilon), least);
  };
}

Processor keep_eta(double epsilon, std::int64_t least) {
  return [epsilon, least](const RowScores& row) {
    const std::vector<Ranked> choices = ranked(row.scores);
    const double entropy = entropy_of(choices, choices.size());
    const double bound = std::min(epsilon, std::sqrt(epsilon) * std::exp(-entropy));
    cut_behind(row.scores, choices, count_from(choices, bound), least);
  };
}

}  // namespace weft::generation
