// SPDX-License-Identifier: Apache-2.0
// Counted cells and sampled ones.
#include "weft/inspect/picture/cells.h"

#include <algorithm>
#include <array>
#include <bit>

#include "weft/inspect/survey/descent.h"
#include "weft/pattern/interval.h"

namespace weft::inspect {
namespace {

class CellCounter {
 public:
  CellCounter(const pattern::BlockLayout& layout, const Picture& picture)
      : layout_(layout), picture_(picture), cells_(static_cast<std::size_t>(picture.rows * picture.columns)) {}

  void add_group(std::int64_t group) {
    const std::int64_t first_block = picture_.queries.begin / kPictureTile;
    const std::int64_t end_block = (picture_.queries.end + kPictureTile - 1) / kPictureTile;
    for (std::int64_t query_block = first_block; query_block < end_block; ++query_block) {
      const auto row = static_cast<std::size_t>(group * layout_.query_blocks() + query_block);
      for (std::int64_t block = layout_.row_begin[row]; block < layout_.row_begin[row + 1]; ++block) {
        add_block(query_block, block);
      }
    }
  }

  const std::vector<CellCount>& cells() const { return cells_; }

 private:
  void add_block(std::int64_t query_block, std::int64_t block) {
    const std::int64_t key_begin = layout_.key_block[static_cast<std::size_t>(block)] * kPictureTile;
    const std::int32_t kind = layout_.kind[static_cast<std::size_t>(block)];
    const std::uint64_t inside =
        pattern::low_bits(picture_.keys.end - key_begin) & ~pattern::low_bits(picture_.keys.begin - key_begin);
    if (picture_.keys.end <= key_begin || inside == 0) {
      return;
    }
    const std::int64_t begin = std::max(query_block * kPictureTile, picture_.queries.begin);
    const std::int64_t end = std::min((query_block + 1) * kPictureTile, picture_.queries.end);
    for (std::int64_t query = begin; query < end; ++query) {
      add_row(query, key_begin, pattern::keys_of_row(layout_, kind, query % kPictureTile) & inside);
    }
  }

  void add_row(std::int64_t query, std::int64_t key_begin, std::uint64_t bits) {
    const std::int64_t step = std::min(picture_.cell, kPictureTile);
    const std::int64_t row = (query - picture_.queries.begin) / picture_.cell;
    for (std::int64_t offset = 0; bits != 0 && offset < kPictureTile; offset += step) {
      const std::uint64_t piece = (bits >> offset) & pattern::low_bits(step);
      if (piece != 0) {
        const std::int64_t column = (key_begin + offset - picture_.keys.begin) / picture_.cell;
        note(cells_[static_cast<std::size_t>(row * picture_.columns + column)], query, key_begin + offset, piece);
      }
    }
  }

  void note(CellCount& cell, std::int64_t query, std::int64_t key, std::uint64_t piece) const {
    const PictureEdge first{query, key + std::countr_zero(piece)};
    if (cell.edges == 0) {
      cell.first = first;
    }
    if (cell.edges == 0 || (query - picture_.queries.begin) % picture_.cell == picture_.cell / 2) {
      cell.middle = first;
    }
    cell.last = {query, key + kPictureTile - 1 - std::countl_zero(piece)};
    cell.edges += std::popcount(piece);
  }

  const pattern::BlockLayout& layout_;
  const Picture& picture_;
  std::vector<CellCount> cells_;
};

}  // namespace

std::vector<CellCount> count_cells(const pattern::BlockLayout& layout, const Picture& picture, std::int64_t group) {
  CellCounter counter(layout, picture);
  counter.add_group(group);
  return counter.cells();
}

namespace {

constexpr std::int64_t kLeaf = 64;  // pairs a side that are looked at one by one
constexpr int kDeepest = 4;         // cuts in four
constexpr std::int64_t kBlind = 4096;

/// A cell being put together.
struct Sample {
  double edges = 0;
  std::array<pattern::EdgeKind, 3> kinds{};
  std::size_t found = 0;  // of the kinds: the first, and the last two
};

class CellSampler {
 public:
  CellSampler(const pattern::Pattern& pattern, const pattern::Site& site, double ways)
      : context_(site), root_(pattern.root().resolved(context_)), lists_(root_.listed_keys(context_).row > 0) {
    while (depth_ < kDeepest && ways >= 4) {
      ways /= 4;
      ++depth_;
    }
  }

  PictureCell cell(const pattern::Range& query, const pattern::Range& key, std::uint64_t row) {
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
    const int value = asks ? root_.uniform(context_, part.query, part.key) : pattern::kMixed;
    if (value > 0) {
      note(part, 1);
    } else if (value == pattern::kMixed && is_leaf) {
      note_bits(part, 1);
    } else if (value == pattern::kMixed && cuts == 0) {
      follow(part);
    } else if (value == pattern::kMixed) {
      for (const pattern::Range& queries : parts_of(part.query)) {
        for (const pattern::Range& keys : parts_of(part.key)) {
          if (queries.size() > 0 && keys.size() > 0) {
            add({queries, keys}, cuts - 1);
          }
        }
      }
    }
  }

  static std::array<pattern::Range, 2> parts_of(const pattern::Range& range) {
    return range.size() <= kLeaf ? std::array<pattern::Range, 2>{range, pattern::Range{range.end, range.end}}
                                 : halves_of(range, kLeaf);
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
      value == pattern::kMixed ? note_bits(piece, weight) : note(piece, weight);
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
    const pattern::EdgeKind kind = root_.edge_kind(context_, query, key);
    if (sample_.found++ == 0) {
      sample_.kinds.fill(kind);
    } else {
      sample_.kinds[1] = sample_.kinds[2];
      sample_.kinds[2] = kind;
    }
  }

  pattern::Context context_;
  const pattern::Node& root_;
  bool lists_;
  int depth_ = 0;
  Sample sample_;
  std::uint64_t row_ = 0;
  std::uint64_t ways_ = 0;
};

}  // namespace

std::vector<PictureCell> sample_cells(const pattern::Pattern& pattern, const pattern::Site& site,
                                      const Picture& picture, double questions) {
  const pattern::Context context(site);
  const double cost = kDescentCost + kDrawCost * pattern.root().resolved(context).listed_keys(context).least;
  const double ways = questions / cost / static_cast<double>(picture.rows * picture.columns);
  CellSampler sampler(pattern, site, ways);
  std::vector<PictureCell> cells;
  const auto range_of = [&](const TokenRange& shown, std::int64_t index) {
    const std::int64_t begin = shown.begin + index * picture.cell;
    return pattern::Range{begin, std::min(begin + picture.cell, shown.end)};
  };
  for (std::int64_t row = 0; row < picture.rows; ++row) {
    for (std::int64_t column = 0; column < picture.columns; ++column) {
      cells.push_back(sampler.cell(range_of(picture.queries, row), range_of(picture.keys, column),
                                   static_cast<std::uint64_t>(row)));
    }
  }
  return cells;
}

}  // namespace weft::inspect
