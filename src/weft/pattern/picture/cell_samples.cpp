// SPDX-License-Identifier: Apache-2.0
// A rectangle is cut in four until the pattern answers for a part at once; what is still open after a few cuts is
// followed along one random way down.
#include "weft/pattern/picture/cell_samples.h"

#include <algorithm>
#include <array>

#include "weft/pattern/survey/descent.h"

namespace weft::pattern {
namespace {

constexpr std::int64_t kLeaf = 64;    // pairs a side that are looked at one by one
constexpr double kDescentCost = 100;  // questions of a way down
constexpr double kDrawCost = 2;       // questions that a draw or a look-up is worth
constexpr int kDeepest = 4;           // cuts in four
constexpr std::int64_t kBlind = 4096;

/// A cell being put together.
struct Sample {
  double edges = 0;
  std::array<EdgeKind, 3> kinds{};
  std::size_t found = 0;  // of the kinds: the first, and the last two
};

class CellSampler {
 public:
  CellSampler(const Pattern& pattern, const Site& site, double ways)
      : context_(site), root_(pattern.root().resolved(context_)), lists_(root_.listed_keys(context_).row > 0) {
    while (depth_ < kDeepest && ways >= 4) {
      ways /= 4;
      ++depth_;
    }
  }

  PictureCell cell(const Range& query, const Range& key, std::uint64_t row) {
    const PairRange whole{{query.begin + context_.query_offset, query.end + context_.query_offset}, key};
    sample_ = {};
    row_ = row;
    ways_ = 0;
    add(whole, depth_);
    PictureCell result;
    if (sample_.edges > 0) {
      result.coverage = std::min(1.0, sample_.edges / whole.pairs());
      result.kind = sample_.kinds[0] == sample_.kinds[2] ? sample_.kinds[0] : sample_.kinds[1];
    }
    return result;
  }

 private:
  void add(const PairRange& part, int cuts) {
    const bool is_leaf = part.query.size() <= kLeaf && part.key.size() <= kLeaf;
    // Asking a random graph about many rows would draw them all.
    const bool asks = !lists_ || is_leaf || part.query.size() > kBlind;
    const int value = asks ? root_.uniform(context_, part.query, part.key) : kMixed;
    if (value > 0) {
      note(part, 1);
    } else if (value == kMixed && is_leaf) {
      note_bits(part, 1);
    } else if (value == kMixed && cuts == 0) {
      follow(part);
    } else if (value == kMixed) {
      for (const Range& queries : parts_of(part.query)) {
        for (const Range& keys : parts_of(part.key)) {
          if (queries.size() > 0 && keys.size() > 0) {
            add({queries, keys}, cuts - 1);
          }
        }
      }
    }
  }

  static std::array<Range, 2> parts_of(const Range& range) {
    return range.size() <= kLeaf ? std::array<Range, 2>{range, Range{range.end, range.end}} : halves_of(range, kLeaf);
  }

  /// Cells side by side follow the same rows, so that a row of a random graph is drawn once.
  void follow(const PairRange& part) {
    const Descent down{.root = root_,
                       .context = context_,
                       .query_leaf = lists_ ? 1 : kLeaf,
                       .key_leaf = kLeaf,
                       .blind = lists_ ? kBlind : 0,
                       .seed = (row_ << 16) + ways_++};
    descend(down, part, [&](const PairRange& piece, int value, double weight) {
      value == kMixed ? note_bits(piece, weight) : note(piece, weight);
    });
  }

  void note(const PairRange& part, double weight) {
    sample_.edges += weight * part.pairs();
    note_kind(part.query.begin, part.key.begin);
  }

  void note_bits(const PairRange& part, double weight) {
    std::array<std::uint64_t, kLeaf> bits{};
    const auto queries = static_cast<std::size_t>(part.query.size());
    root_.rows_bits(context_, part.query, part.key.begin, static_cast<int>(part.key.size()),
                    std::span(bits).first(queries));
    std::int64_t edges = 0;
    for (std::size_t query = 0; query < queries; ++query) {
      if (bits[query] != 0 && (edges == 0 || query == queries / 2 || query + 1 == queries)) {
        note_kind(part.query.begin + static_cast<std::int64_t>(query), part.key.begin + std::countr_zero(bits[query]));
      }
      edges += std::popcount(bits[query]);
    }
    sample_.edges += weight * static_cast<double>(edges);
  }

  void note_kind(std::int64_t query, std::int64_t key) {
    const EdgeKind kind = root_.edge_kind(context_, query, key);
    if (sample_.found++ == 0) {
      sample_.kinds.fill(kind);
    } else {
      sample_.kinds[1] = sample_.kinds[2];
      sample_.kinds[2] = kind;
    }
  }

  Context context_;
  const Node& root_;
  bool lists_;
  int depth_ = 0;
  Sample sample_;
  std::uint64_t row_ = 0;
  std::uint64_t ways_ = 0;
};

}  // namespace

std::vector<PictureCell> sample_cells(const Pattern& pattern, const Site& site, const Picture& picture,
                                      double questions) {
  const Context context(site);
  const double cost = kDescentCost + kDrawCost * pattern.root().resolved(context).listed_keys(context).least;
  const double ways = questions / cost / static_cast<double>(picture.rows * picture.columns);
  CellSampler sampler(pattern, site, ways);
  std::vector<PictureCell> cells;
  const auto range_of = [&](const TokenRange& shown, std::int64_t index) {
    const std::int64_t begin = shown.begin + index * picture.cell;
    return Range{begin, std::min(begin + picture.cell, shown.end)};
  };
  for (std::int64_t row = 0; row < picture.rows; ++row) {
    for (std::int64_t column = 0; column < picture.columns; ++column) {
      cells.push_back(sampler.cell(range_of(picture.queries, row), range_of(picture.keys, column),
                                   static_cast<std::uint64_t>(row)));
    }
  }
  return cells;
}

}  // namespace weft::pattern
