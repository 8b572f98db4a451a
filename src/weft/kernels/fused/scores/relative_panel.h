// SPDX-License-Identifier: Apache-2.0
// A relative product on a panel. One product gives the 32 queries times all 95 rows of R that the panel meets,
//   G[row][lane] = scale * R[row] . Q2[lane],   wanted: scores[key][lane] += G[63 - key + lane][lane].
// Lane l needs the row l places on. A lane is a number of few bits: for each bit, the lanes that have it take the row
// 2^bit places on, a blend of two rows and no gather. Backwards the same blends, in the other direction, turn dS^T into
// dG^T, and two more products give dQ2 and dR.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/fused/panels.h"
#include "weft/kernels/fused/query_sums.h"
#include "weft/kernels/fused/relative_rows.h"
#include "weft/kernels/fused/scores/pair_scores.h"

namespace weft::kernels {

/// Vectors `rows`, of which each lane moves its own number of places.
template <class Isa>
struct LaneShift {
  /// rows[i][lane] = rows[i + lane][lane] for i < count; of count + kLanes - 1 rows.
  static void up(float* rows, std::int64_t count) noexcept {
    std::int64_t end = count + Isa::kLanes - 1;
    for (int step = 1; step < Isa::kLanes; step *= 2) {
      const auto moving = Isa::lanes_of(lanes_with(step));
      end -= step;
      for (std::int64_t row = 0; row < end; ++row) {
        float* at = rows + row * Isa::kLanes;
        Isa::store(at, Isa::select(moving, Isa::load(at + step * Isa::kLanes), Isa::load(at)));
      }
    }
  }

  /// The inverse: rows[i + lane][lane] = rows[i][lane] for i < count, zeros elsewhere in count + kLanes - 1 rows.
  static void down(float* rows, std::int64_t count) noexcept {
    std::int64_t end = count;
    for (int step = 1; step < Isa::kLanes; step *= 2) {
      const auto moving = Isa::lanes_of(lanes_with(step));
      for (std::int64_t row = end + step - 1; row >= 0; --row) {
        float* at = rows + row * Isa::kLanes;
        const auto before = row < step ? Isa::zero() : Isa::load(at - step * Isa::kLanes);
        Isa::store(at, Isa::select(moving, before, row < end ? Isa::load(at) : Isa::zero()));
      }
      end += step;
    }
  }

 private:
  // Bit l: lane l has the bit `step`.
  static std::uint64_t lanes_with(int step) noexcept {
    std::uint64_t lanes = 0;
    for (int lane = 0; lane < Isa::kLanes; ++lane) {
      lanes |= std::uint64_t{(lane & step) != 0 ? 1U : 0U} << lane;
    }
    return lanes;
  }
};

/// Where a panel adds to: dQ2 from its first query on, and dR [count()][width()] of the head.
struct RelativeSums {
  QuerySumRow queries;
  float* rows;
};

template <class Isa, class Storage>
class RelativePanel {
  using Packer = MatrixPacker<Isa, typename Storage::Memory>;
  using Units = typename Packer::Units;
  using Unit = typename Packer::Unit;

 public:
  RelativePanel(const AttentionArguments& arguments, const RelativeRows<Isa, Storage>& rows) noexcept
      : arguments_(arguments),
        rows_(rows),
        products_(is_on() ? RelativeRows<Isa, Storage>::kRows * kPanel : 0),
        kept_(is_on() ? kPanels * kPanel * kPanel : 0),
        pairs_(Packer::kPairs && is_on() ? kTile * kPanel : 0) {}

  bool is_on() const noexcept { return has_relative(arguments_); }
  bool is_there() const noexcept { return products_.is_there() && kept_.is_there() && pairs_.is_there(); }

  /// Before the first key block of a block of queries: nothing is kept of the queries before.
  void start() noexcept {
    for (std::int64_t& entry : kept_entry_) {
      entry = kNothing;
    }
  }

  /// Adds to scores[key][kPanel]; `queries` are the panels of Q2 of the block.
  void add(std::int64_t head, const Unit* queries, const Panel& panel, const PanelSpan& span, float* scores) noexcept {
    const std::int64_t entry = first_entry(panel, span);
    const auto window = rows_.window(head, entry);
    const Unit* right = queries + panel.in_panels(Packer::units(arguments_.head_dim));
    if (rows_.is_constant(entry)) {
      multiply(window, right, panel, 0, 1);
      return add_constant(panel, span, scores);
    }
    const RowRange needed = rows_of(panel, span);
    const bool is_whole = needed.begin == 0 && needed.end == kMeets;
    float* kept = kept_.data() + panel.query / kPanel * kPanel * kPanel;
    std::int64_t& kept_entry = kept_entry_[panel.query / kPanel];
    if (is_whole && kept_entry == entry + kTile) {
      copy(kept, row(kTile));
      multiply(window, right, panel, 0, kTile);
    } else {
      multiply(window, right, panel, needed.begin, needed.end);
    }
    if (is_whole) {
      copy(row(0), kept);
      kept_entry = entry;
    }
    for (std::int64_t vector = 0; vector < panel.vectors; ++vector) {
      add_shifted(panel.lane() + vector * Isa::kLanes, span, scores + vector * Isa::kLanes);
    }
  }

  /// Adds what gradients [key][kPanel] of scores, times the scale, give; `queries` are Q2 of the block.
  void take(std::int64_t head, const Matrix<Unit>& queries, const Panel& panel, const PanelSpan& span,
            const float* gradients, const RelativeSums& sums) noexcept {
    const auto window = rows_.window(head, first_entry(panel, span));
    const RowRange needed = rows_of(panel, span);
    __builtin_memset(products_.data(), 0, static_cast<std::size_t>(kMeets + 1) * kPanel * sizeof(float));
    for (std::int64_t vector = 0; vector < panel.vectors; ++vector) {
      spread(panel.lane() + vector * Isa::kLanes, span, gradients + vector * Isa::kLanes);
    }
    const std::int64_t vectors = rows_.width() / Isa::kLanes;
    for (std::int64_t first = 0; first < kMeets; first += kTile) {
      const KeyRange part{larger(needed.begin - first, 0) / kStepNumbers<Units> * kStepNumbers<Units>,
                          smaller(needed.end - first, kTile), false};
      if (part.count() <= 0) {
        continue;
      }
      const float* numbers = row(first) + panel.lane();
      product<Isa, Units>(
          {pair_queries<Isa, Units>(numbers, pairs_.data(), part, panel.vectors),
           queries.step(panel.query / Units::kPerUnit), queries.step_stride, Packer::units(panel.queries)},
          {sums.rows + (window.row + first + part.begin) * rows_.width(), rows_.width(), part.count(), vectors},
          Added<Isa>{});
      product<Isa, Units>({pair_keys_of_queries<Isa, Units>(numbers, pairs_.data(), part, panel.vectors),
                           window.step(first + part.begin), window.step_stride, Packer::units(part.count())},
                          {sums.queries.data, sums.queries.stride, panel.queries, vectors}, Added<Isa>{});
    }
  }

  /// Makes the rows of R of a key and the lanes in `seen_by` (from the panel's first query on) NaN in the sums.
  void spoil(std::int64_t head, std::int64_t key, std::uint64_t seen_by, const Panel& panel, const PanelSpan& span,
             float* row_sums) const noexcept {
    const std::int64_t first = rows_.window(head, first_entry(panel, span)).row + kTile - 1 - key + panel.lane();
    for (; seen_by != 0; seen_by &= seen_by - 1) {
      float* sums = row_sums + (first + __builtin_ctzll(seen_by)) * rows_.width();
      for (std::int64_t column = 0; column < rows_.width(); ++column) {
        sums[column] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }

 private:
  static constexpr std::int64_t kMeets = kTile + kPanel - 1;
  static constexpr std::int64_t kNothing = INT64_MIN;

  struct RowRange {
    std::int64_t begin;
    std::int64_t end;
  };
  // Rows of the window that the keys and lanes of a panel meet.
  static RowRange rows_of(const Panel& panel, const PanelSpan& span) noexcept {
    return {panel.lane() + kTile - span.end, panel.lane() + panel.vectors * Isa::kLanes - 1 + kTile - span.begin};
  }

  // That of lane 0 of the whole panel and key 63.
  std::int64_t first_entry(const Panel& panel, const PanelSpan& span) const noexcept {
    const RelativeProduct& relative = arguments_.relative;
    return span.first_query - panel.lane() + relative.query_offset - span.first_key - (kTile - 1) + relative.zero;
  }

  float* row(std::int64_t at) const noexcept { return products_.data() + at * kPanel; }
  static void copy(const float* from, float* to) noexcept {
    __builtin_memcpy(to, from, (kPanel - 1) * kPanel * sizeof(float));
  }

  // Rows [begin, end) of G for the lanes of the panel.
  void multiply(const typename RelativeRows<Isa, Storage>::Window& window, const Unit* right, const Panel& panel,
                std::int64_t begin, std::int64_t end) noexcept {
    scaled_product<Isa, Units>({window.left.from_row(begin), right, kPanel, Packer::units(arguments_.head_dim)},
                               {row(begin) + panel.lane(), kPanel, end - begin, panel.vectors},
                               static_cast<float>(arguments_.scale));
    for (std::int64_t at = begin; at < end; ++at) {
      for (std::int64_t lane = 0; lane < panel.vectors * Isa::kLanes && window.invalid[at] != 0; ++lane) {
        row(at)[panel.lane() + lane] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }

  void add_constant(const Panel& panel, const PanelSpan& span, float* scores) const noexcept {
    for (std::int64_t lane = 0; lane < panel.vectors * Isa::kLanes; lane += Isa::kLanes) {
      const auto same = Isa::load(row(0) + panel.lane() + lane);
      for (std::int64_t key = span.begin; key < span.end; ++key) {
        float* to = scores + key * kPanel + lane;
        Isa::store(to, Isa::add(Isa::load(to), same));
      }
    }
  }

  // `lane` counts from that of the whole panel, `scores` begin at it.
  void add_shifted(std::int64_t lane, const PanelSpan& span, float* scores) const noexcept {
    alignas(64) float rows[(kTile + Isa::kLanes) * Isa::kLanes];
    const std::int64_t count = span.end - span.begin;
    const float* from = row(lane + kTile - span.end) + lane;
    for (std::int64_t at = 0; at < count + Isa::kLanes - 1; ++at) {
      Isa::store(rows + at * Isa::kLanes, Isa::load(from + at * kPanel));
    }
    LaneShift<Isa>::up(rows, count);
    for (std::int64_t at = 0; at < count; ++at) {
      float* to = scores + (span.end - 1 - at) * kPanel;
      Isa::store(to, Isa::add(Isa::load(to), Isa::load(rows + at * Isa::kLanes)));
    }
  }

  // dS^T to dG^T.
  void spread(std::int64_t lane, const PanelSpan& span, const float* gradients) noexcept {
    alignas(64) float rows[(kTile + Isa::kLanes) * Isa::kLanes];
    const std::int64_t count = span.end - span.begin;
    for (std::int64_t at = 0; at < count; ++at) {
      Isa::store(rows + at * Isa::kLanes, Isa::load(gradients + (span.end - 1 - at) * kPanel));
    }
    LaneShift<Isa>::down(rows, count);
    float* to = row(lane + kTile - span.end) + lane;
    for (std::int64_t at = 0; at < count + Isa::kLanes - 1; ++at) {
      Isa::store(to + at * kPanel, Isa::load(rows + at * Isa::kLanes));
    }
  }

  const AttentionArguments& arguments_;
  const RelativeRows<Isa, Storage>& rows_;
  Buffer<Isa, float> products_;  // G or dG: [row of the window][kPanel]
  Buffer<Isa, float> kept_;      // of each panel the first 31 rows, which are the last ones of the next key block
  Buffer<Isa, Unit> pairs_;
  std::int64_t kept_entry_[kPanels] = {kNothing, kNothing};
};

}  // namespace weft::kernels
