// SPDX-License-Identifier: Apache-2.0
// Breadth-first search, triangles and reach on words of 64 positions.
#include "weft/inspect/graph/paths.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/pattern/interval.h"

namespace weft::inspect {
namespace {

class Search {
 public:
  explicit Search(const WordRows& rows)
      : rows_(rows), seen_(static_cast<std::size_t>(pattern::ceil_divide(rows.positions, 64))) {}

  struct Result {
    double sum = 0;  // of distances
    std::int64_t reached = 0;
    std::int64_t farthest = 0;
  };

  Result from(std::int64_t source) {
    Result result;
    std::fill(seen_.begin(), seen_.end(), 0);
    mark(source);
    frontier_.assign(1, source);
    for (std::int64_t distance = 1; !frontier_.empty() && result.reached + 1 < rows_.positions; ++distance) {
      next_.clear();
      // Ends as soon as everything has been seen: behind a global position that is after a few rows.
      for (std::size_t i = 0; i < frontier_.size() && result.reached + 1 + std::ssize(next_) < rows_.positions; ++i) {
        expand(frontier_[i]);
      }
      result.sum += static_cast<double>(distance) * static_cast<double>(next_.size());
      result.reached += std::ssize(next_);
      result.farthest = next_.empty() ? result.farthest : distance;
      frontier_.swap(next_);
    }
    return result;
  }

 private:
  void mark(std::int64_t position) {
    seen_[static_cast<std::size_t>(position / 64)] |= std::uint64_t{1} << (position % 64);
  }

  void expand(std::int64_t position) {
    const auto at = static_cast<std::size_t>(position);
    for (auto word = static_cast<std::size_t>(rows_.begin[at]); word < static_cast<std::size_t>(rows_.begin[at + 1]);
         ++word) {
      std::uint64_t& seen = seen_[rows_.index[word]];
      for (std::uint64_t fresh = rows_.bits[word] & ~seen; fresh != 0; fresh &= fresh - 1) {
        next_.push_back(std::int64_t{64} * rows_.index[word] + std::countr_zero(fresh));
      }
      seen |= rows_.bits[word];
    }
  }

  const WordRows& rows_;
  std::vector<std::uint64_t> seen_;
  std::vector<std::int64_t> frontier_;
  std::vector<std::int64_t> next_;
};

}  // namespace

PathLengths path_lengths(const WordRows& rows, std::span<const std::int64_t> sources) {
  PathLengths result;
  Search search(rows);
  std::vector<double> sums;
  std::vector<double> reached;
  std::vector<double> missed;
  for (const std::int64_t source : sources) {
    const Search::Result found = search.from(source);
    sums.push_back(found.sum);
    reached.push_back(static_cast<double>(found.reached));
    missed.push_back(static_cast<double>(rows.positions - 1 - found.reached));
    result.largest = std::max(result.largest, found.farthest);
  }
  result.average = ratio_estimate(sums, reached, rows.positions);
  const std::vector<double> pairs(sums.size(), static_cast<double>(rows.positions - 1));
  result.unreachable = ratio_estimate(missed, pairs, rows.positions);
  return result;
}

Estimate clustering_coefficient(const WordRows& rows, std::span<const std::int64_t> positions) {
  std::vector<std::uint64_t> mine(static_cast<std::size_t>(pattern::ceil_divide(rows.positions, 64)), 0);
  std::vector<double> coefficients;
  const auto words = [&](std::int64_t position, const auto& visit) {
    for (auto word = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(position)]);
         word < static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(position) + 1]); ++word) {
      visit(rows.index[word], rows.bits[word]);
    }
  };
  for (const std::int64_t position : positions) {
    std::int64_t degree = 0;
    std::int64_t shared = 0;  // ordered pairs of neighbours that are neighbours
    words(position, [&](std::uint32_t index, std::uint64_t bits) {
      mine[index] = bits;
      degree += std::popcount(bits);
    });
    for_each_neighbour(rows, position, [&](std::int64_t neighbour) {
      words(neighbour, [&](std::uint32_t index, std::uint64_t bits) { shared += std::popcount(bits & mine[index]); });
    });
    words(position, [&](std::uint32_t index, std::uint64_t) { mine[index] = 0; });
    const double pairs = static_cast<double>(degree) * static_cast<double>(degree - 1);
    coefficients.push_back(degree < 2 ? 0 : static_cast<double>(shared) / pairs);
  }
  return ratio_estimate(coefficients, std::vector<double>(coefficients.size(), 1), rows.positions);
}

std::int64_t connected_parts(const WordRows& rows) {
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(rows.positions), 0);
  std::vector<std::int64_t> open;
  std::int64_t parts = 0;
  for (std::int64_t start = 0; start < rows.positions; ++start) {
    if (seen[static_cast<std::size_t>(start)] != 0) {
      continue;
    }
    ++parts;
    open.assign(1, start);
    seen[static_cast<std::size_t>(start)] = 1;
    while (!open.empty()) {
      const std::int64_t position = open.back();
      open.pop_back();
      for_each_neighbour(rows, position, [&](std::int64_t neighbour) {
        if (std::exchange(seen[static_cast<std::size_t>(neighbour)], 1) == 0) {
          open.push_back(neighbour);
        }
      });
    }
  }
  return parts;
}

namespace {

using Words = std::vector<std::uint64_t>;

Words block_unions(const Words& holds) {
  Words unions(static_cast<std::size_t>(pattern::ceil_divide(std::ssize(holds), 64)), 0);
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
    if (layer.bits[word] == pattern::low_bits(layer.positions - std::int64_t{64} * index)) {
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
      next[position] = received(layer, holds, unions, position, pattern::low_bits(static_cast<std::int64_t>(lanes)));
      for (std::uint64_t rest = next[position]; rest != 0; rest &= rest - 1) {
        ++heard[static_cast<std::size_t>(std::countr_zero(rest))];
      }
    }
    holds.swap(next);
    counts.insert(counts.end(), heard.begin(), heard.begin() + static_cast<std::ptrdiff_t>(lanes));
  }
  return ratio_estimate(counts, std::vector<double>(counts.size(), 1), positions_);
}

}  // namespace weft::inspect
