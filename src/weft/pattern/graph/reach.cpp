// SPDX-License-Identifier: Apache-2.0
// A word holds 64 sources; a block whose 64 neighbours are all wanted gives its union at once.
#include "weft/pattern/graph/reach.h"

#include <algorithm>
#include <array>

#include "weft/pattern/interval.h"

namespace weft::pattern {
namespace {

using Words = std::vector<std::uint64_t>;

Words block_unions(const Words& holds) {
  Words unions(static_cast<std::size_t>(ceil_divide(std::ssize(holds), 64)), 0);
  for (std::size_t i = 0; i < holds.size(); ++i) {
    unions[i / 64] |= holds[i];
  }
  return unions;
}

/// What `position` holds after the layer; stops once it holds `all`.
std::uint64_t received(const WordRows& layer, const Words& holds, const Words& unions, std::size_t position,
                       std::uint64_t all) {
  std::uint64_t held = holds[position];
  for (auto word = static_cast<std::size_t>(layer.begin[position]);
       word < static_cast<std::size_t>(layer.begin[position + 1]) && held != all; ++word) {
    const std::uint32_t index = layer.index[word];
    if ((unions[index] & ~held) == 0) {
      continue;
    }
    if (layer.bits[word] == low_bits(layer.positions - std::int64_t{64} * index)) {
      held |= unions[index];
      continue;
    }
    for (std::uint64_t rest = layer.bits[word]; rest != 0; rest &= rest - 1) {
      held |= holds[std::size_t{64} * index + static_cast<std::size_t>(std::countr_zero(rest))];
    }
  }
  return held;
}

}  // namespace

Reach::Reach(std::int64_t positions, std::vector<std::int64_t> sources)
    : positions_(positions), sources_(std::move(sources)) {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (i % 64 == 0) {
      holds_.emplace_back(static_cast<std::size_t>(positions), 0);
    }
    holds_.back()[static_cast<std::size_t>(sources_[i])] |= std::uint64_t{1} << (i % 64);
  }
}

Estimate Reach::pass(const WordRows& layer) {
  std::vector<double> counts;
  for (std::size_t batch = 0; batch < holds_.size(); ++batch) {
    Words& holds = holds_[batch];
    const std::size_t lanes = std::min<std::size_t>(64, sources_.size() - 64 * batch);
    const Words unions = block_unions(holds);
    Words next(holds.size());
    std::array<std::int64_t, 64> heard{};
    for (std::size_t position = 0; position < holds.size(); ++position) {
      next[position] = received(layer, holds, unions, position, low_bits(static_cast<std::int64_t>(lanes)));
      for (std::uint64_t rest = next[position]; rest != 0; rest &= rest - 1) {
        ++heard[static_cast<std::size_t>(std::countr_zero(rest))];
      }
    }
    holds.swap(next);
    counts.insert(counts.end(), heard.begin(), heard.begin() + static_cast<std::ptrdiff_t>(lanes));
  }
  return ratio_estimate(counts, std::vector<double>(counts.size(), 1), positions_);
}

}  // namespace weft::pattern
