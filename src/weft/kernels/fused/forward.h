// SPDX-License-Identifier: Apache-2.0
// The fused forward pass. For a block of queries: S^T = scale * K Q^T, mask, online softmax, O^T = O^T factor + V^T
// P^T, a panel of 32 queries and a block of 64 keys at a time. No score ever leaves the first-level cache.
#pragma once

#include <cmath>
#include <cstdint>

#include "weft/kernels/fused/key_blocks.h"
#include "weft/kernels/fused/key_run.h"
#include "weft/kernels/fused/panels.h"
#include "weft/kernels/fused/row_parts.h"
#include "weft/kernels/fused/scores/distance_panel.h"
#include "weft/kernels/fused/scores/dropout_panel.h"
#include "weft/kernels/fused/scores/own_scores.h"
#include "weft/kernels/fused/scores/pair_scores.h"
#include "weft/kernels/fused/scores/relative_panel.h"
#include "weft/kernels/fused/scores/softmax_panel.h"

namespace weft::kernels {

/// A block of queries of one head.
struct QueryPlace {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t query_block;
};

template <class Isa, class Storage>
class FusedForward {
  using Memory = typename Storage::Memory;
  using Packer = MatrixPacker<Isa, Memory>;
  using Units = typename Packer::Units;
  using Unit = typename Packer::Unit;

 public:
  FusedForward(const AttentionArguments& arguments, const RelativeRows<Isa, Storage>& relative_rows) noexcept
      : arguments_(arguments),
        keys_(arguments, {Sides::kRows, Sides::kColumns}),
        query_panels_(kTile * Packer::padded(Packer::units(arguments.head_dim))),
        relative_(arguments, relative_rows),
        relative_panels_(relative_.is_on() ? kTile * Packer::padded(Packer::units(arguments.head_dim)) : 0),
        output_panels_(kTile * round_up(arguments.value_dim, Isa::kLanes)),
        scores_(kMostBlocks * kTile * kPanel),
        pairs_(Packer::kPairs ? kMostBlocks * kTile / 2 * kPanel : 1),
        weights_(kTile * kTile),
        scales_late_(Packer::kPairs && arguments.scale > 0 && !(arguments.dropout.probability > 0) &&
                     !relative_.is_on() && !PanelDistances<Isa>(arguments.distances).is_on()) {}

  bool is_there() const noexcept {
    return keys_.is_there() && query_panels_.is_there() && output_panels_.is_there() && scores_.is_there() &&
           pairs_.is_there() && weights_.is_there() && relative_.is_there() && relative_panels_.is_there();
  }

  /// Writes the outputs of a block of queries that sees `blocks`.
  void run(const QueryPlace& place, const pattern::BlockRange& blocks) noexcept {
    add_blocks(place, blocks);
    finish();
  }

  /// Leaves what a block of queries makes of some of its blocks in `part`.
  void run_part(const QueryPlace& place, const pattern::BlockRange& blocks, const RowPart<Isa>& part) noexcept {
    add_blocks(place, blocks);
    *part.rows = rows_;
    __builtin_memcpy(part.output, output_panels_.data(), output_bytes());
  }

  /// Writes the outputs of a block of queries from all of its parts, joined in their order.
  void merge(const QueryPlace& place, const RowParts<Isa>& parts, std::int64_t first, std::int64_t count) noexcept {
    go_to(place);
    rows_ = *parts.at(first).rows;
    __builtin_memcpy(output_panels_.data(), parts.at(first).output, output_bytes());
    for (std::int64_t part = first + 1; part < first + count; ++part) {
      merge(parts.at(part));
    }
    finish();
  }

 private:
  // What is done otherwise with the scores of some blocks.
  struct Weighing {
    bool keeps_weights = false;  // what they weigh takes their place
    bool scales_late = false;    // they are products alone, and the exponential multiplies them by the scale
  };

  void go_to(const QueryPlace& place) noexcept {
    place_ = place;
    first_query_ = place.query_block * arguments_.layout.tile_query;
    queries_ = smaller(arguments_.layout.tile_query, arguments_.query_length - first_query_);
  }

  std::int64_t key_head() const noexcept { return place_.head / (arguments_.heads / arguments_.key_heads); }

  std::size_t output_bytes() const noexcept {
    return static_cast<std::size_t>(kTile * arguments_.value_dim) * sizeof(float);
  }

  void merge(const RowPart<Isa>& part) noexcept {
    rows_.merge(*part.rows);
    for (std::int64_t row = 0; row < kPanels * arguments_.value_dim; ++row) {
      const std::int64_t query = row / arguments_.value_dim * kPanel;
      for (std::int64_t lane = 0; lane < kPanel; lane += Isa::kLanes) {
        float* mine = output_panels_.data() + row * kPanel + lane;
        const auto theirs =
            Isa::multiply(Isa::load(part.output + row * kPanel + lane), Isa::load(part.rows->factor + query + lane));
        Isa::store(mine, Isa::multiply_add(Isa::load(mine), Isa::load(rows_.factor + query + lane), theirs));
      }
    }
  }

  void add_blocks(const QueryPlace& place, const pattern::BlockRange& blocks) noexcept {
    go_to(place);
    start();
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t key_block = arguments_.layout.key_block[block];
      if (run_.count == kMostBlocks || evicts_some(key_block)) {
        add_run();
      }
      const KeyBlock<Unit>& keys = keys_.get(place.batch, key_head(), key_block);
      if (is_whole(block, keys)) {
        run_.add(keys, key_block);
      } else {
        add_run();
        add_block(block, keys, key_block);
      }
    }
    add_run();
  }

  void start() noexcept {
    const RowIndex first{place_.batch, place_.head, first_query_};
    Packer::pack_panels(
        {row_of<Storage>(arguments_.query, first), arguments_.query.row_stride, queries_, arguments_.head_dim},
        query_panels_.data());
    if (relative_.is_on()) {
      const Input& relative = arguments_.relative.query;
      Packer::pack_panels({row_of<Storage>(relative, first), relative.row_stride, queries_, arguments_.head_dim},
                          relative_panels_.data());
      relative_.start();
    }
    __builtin_memset(output_panels_.data(), 0, output_bytes());
    rows_.reset();
  }

  bool evicts_some(std::int64_t key_block) const noexcept {
    bool evicts = false;
    for (std::int64_t at = 0; at < run_.count; ++at) {
      evicts = evicts || keys_.evicts(key_block, run_.key_block[at]);
    }
    return evicts;
  }

  // Whether every query sees every key of a block, and there are 64, all of them finite.
  bool is_whole(std::int64_t block, const KeyBlock<Unit>& keys) const noexcept {
    return pattern::is_full(arguments_.layout.kind[block]) && keys.keys == kTile && !has_positions(arguments_) &&
           (keys.padded | keys.invalid_key | keys.invalid_value) == 0;
  }

  // Takes the blocks of the run in, and begins another.
  void add_run() noexcept {
    if (run_.count == 0) {
      return;
    }
    rows_.has_edges |= low_bits(queries_);
    const Weighing how{.scales_late = scales_late_};
    for (std::int64_t query = 0; query < queries_; query += kPanel) {
      const Panel panel = panel_of<Isa>({0, run_.count * kTile, false}, query, smaller(kPanel, queries_ - query));
      make_scores(panel, run_, how);
      add_weighted(panel, run_, how);
    }
    run_.count = 0;
  }

  void add_block(std::int64_t block, const KeyBlock<Unit>& keys, std::int64_t key_block) noexcept {
    BlockMask<Isa> mask(arguments_.layout, {block, queries_, keys.keys, keys.padded}, weights_.data());
    if (has_positions(arguments_)) {
      mask.restrict_to({arguments_, {place_.batch, place_.head, first_query_}, queries_, key_block * kTile});
    }
    rows_.has_edges |= mask.sees();
    KeyRun<Unit> alone;
    alone.add(keys, key_block);
    const bool is_plain = keys.invalid_value == 0 && mask.weights() == nullptr && !mask.has_own();
    const Weighing how{.keeps_weights = keys.invalid_value != 0, .scales_late = scales_late_ && is_plain};
    each_panel<Isa, Units>(mask, queries_, [&](const Panel& panel) {
      make_scores(panel, alone, how);
      replace_own_scores(mask, panel, scores(panel, 0));
      if (panel.range.is_masked) {
        mask_scores(mask, panel, scores(panel, 0));
      }
      add_weighted(panel, alone, how);
      if (how.keeps_weights) {
        add_values(mask, panel, keys.invalid_value, key_block * kTile);
      }
    });
    mark_keys(mask, keys.invalid_key);
  }

  // Those of a panel's first query and block `at` of a run.
  float* scores(const Panel& panel, std::int64_t at) const noexcept {
    return scores_.data() + at * kTile * kPanel + panel.lane();
  }

  // The keys of block `at` of a run that a panel sees.
  PanelSpan span_of(const Panel& panel, const KeyRun<Unit>& run, std::int64_t at) const noexcept {
    const std::int64_t first = at * kTile;
    return {panel.vectors, first_query_ + panel.query, run.key_block[at] * kTile, larger(panel.range.begin - first, 0),
            smaller(panel.range.end - first, kTile)};
  }

  // Scores with all that is added to them, [key][kPanel].
  void make_scores(const Panel& panel, const KeyRun<Unit>& run, const Weighing& how) noexcept {
    const std::int64_t units = Packer::units(arguments_.head_dim);
    const PanelDistances<Isa> distances(arguments_.distances);
    for (std::int64_t at = 0; at < run.count; ++at) {
      const PanelSpan span = span_of(panel, run, at);
      const Factors<Unit> factors{run.keys[at]->key.rows.from_row(span.begin),
                                  query_panels_.data() + panel.in_panels(units), kPanel, units};
      const Result result{scores(panel, at) + span.begin * kPanel, kPanel, span.end - span.begin, panel.vectors};
      if constexpr (Packer::kPairs) {
        if (how.scales_late) {
          product<Isa, Units>(factors, result, Stored<Isa>{});
          continue;
        }
      }
      scaled_product<Isa, Units>(factors, result, static_cast<float>(arguments_.scale));
      if (relative_.is_on()) {
        relative_.add(place_.head, relative_panels_.data(), panel, span, scores(panel, at));
      }
      if (distances.is_on()) {
        distances.apply(place_.head, scores(panel, at), span);
      }
    }
  }

  // O^T = O^T factor + V^T P^T over the blocks of a run.
  void add_weighted(const Panel& panel, const KeyRun<Unit>& run, const Weighing& how) noexcept {
    const Unit* probabilities = weigh(panel, run, how);
    Factors<Unit> factors[kMostBlocks];
    for (std::int64_t at = 0; at < run.count; ++at) {
      const PanelSpan span = span_of(panel, run, at);
      factors[at] = {run.keys[at]->value.columns.from_step(span.begin / Units::kPerUnit),
                     probabilities + at * (kTile / Units::kPerUnit) * kPanel, kPanel,
                     Packer::units(span.end - span.begin)};
    }
    const Result result{output_at(panel.query, 0), kPanel, arguments_.value_dim, panel.vectors};
    if constexpr (Units::kTiled) {  // then the sums go from and to the tiles without a stage
      if (rows_.all_factors_are(1, panel.query, panel.vectors)) {
        return summed_products<Isa, Units>({factors, run.count}, result, Added<Isa>{});
      }
      if (rows_.all_factors_are(0, panel.query, panel.vectors)) {
        return summed_products<Isa, Units>({factors, run.count}, result, Stored<Isa>{});
      }
    }
    summed_products<Isa, Units>({factors, run.count}, result, Rescaled<Isa>{rows_.factor + panel.query});
  }

  // Takes the scores of a panel into the softmax; returns what dropout leaves of exp(score - maximum), as an operand.
  const Unit* weigh(const Panel& panel, const KeyRun<Unit>& run, const Weighing& how) noexcept {
    const PanelDropout<Isa> dropout(arguments_.dropout, place_.batch, place_.head);
    if constexpr (Packer::kPairs) {
      if (!dropout.is_on() && !how.keeps_weights) {
        const float scale = how.scales_late ? static_cast<float>(arguments_.scale) : 1.0F;
        update_softmax_pairs<Isa, Units>(rows_, panel, scores(panel, 0), scale, pairs_.data());
        return pairs_.data();
      }
    }
    update_softmax(rows_, panel, scores(panel, 0));
    for (std::int64_t at = 0; at < run.count && dropout.is_on(); ++at) {
      PanelBits<Isa> kept;
      dropout.draw(span_of(panel, run, at), kept);
      dropout.apply(scores(panel, at), span_of(panel, run, at), kept);
    }
    return pair_keys<Isa, Units>(scores(panel, 0), pairs_.data(), panel.range, panel.vectors);
  }

  // A row that attends to a key with NaN or infinity has no finite answer.
  void mark_keys(const BlockMask<Isa>& mask, std::uint64_t invalid) noexcept {
    for (; invalid != 0; invalid &= invalid - 1) {
      const std::uint64_t seen_by = mask.seen_by(__builtin_ctzll(invalid));
      for (std::int64_t query = 0; query < queries_; ++query) {
        rows_.sum[query] += ((seen_by >> query) & 1) != 0 ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
      }
    }
  }

  // Values with NaN or infinity, which the product took for zeros: their columns one by one, to the rows that attend to
  // them alone.
  void add_values(const BlockMask<Isa>& mask, const Panel& panel, std::uint64_t invalid,
                  std::int64_t first_key) noexcept {
    for (invalid &= low_bits(panel.range.end) & ~low_bits(panel.range.begin); invalid != 0; invalid &= invalid - 1) {
      const std::int64_t key = __builtin_ctzll(invalid);
      const Memory* value = row_of<Storage>(arguments_.value, {place_.batch, key_head(), first_key + key});
      for (std::int64_t column = 0; column < arguments_.value_dim; column += Isa::kLanes) {
        float numbers[Isa::kLanes];
        Isa::store(numbers, widen_part<Isa>(value + column, arguments_.value_dim - column));
        for (std::int64_t at = 0; at < smaller(Isa::kLanes, arguments_.value_dim - column); ++at) {
          add_value(mask.seen_by(key) >> panel.query, panel, key, column + at, numbers[at]);
        }
      }
    }
  }

  // One number of a value to its column of O^T.
  void add_value(std::uint64_t seen_by, const Panel& panel, std::int64_t key, std::int64_t column,
                 float number) noexcept {
    const float* weights = scores_.data() + panel.lane() + key * kPanel;
    float* sums = output_at(panel.query, column);
    const auto spread = Isa::set(__builtin_isfinite(number) ? number : std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t lane = 0; lane < panel.vectors * Isa::kLanes; lane += Isa::kLanes) {
      const auto added = Isa::multiply(Isa::load(weights + lane), spread);
      Isa::store(sums + lane,
                 Isa::add(Isa::load(sums + lane), Isa::select(Isa::lanes_of(seen_by >> lane), added, Isa::zero())));
    }
  }

  // A vector of queries of O^T.
  float* output_at(std::int64_t query, std::int64_t column) const noexcept {
    return output_panels_.data() + (query / kPanel * arguments_.value_dim + column) * kPanel + query % kPanel;
  }

  // Averages, transposed back to rows; log-sum-exp.
  void finish() noexcept {
    float* log_sum_exp = static_cast<float*>(arguments_.log_sum_exp) +
                         (place_.batch * arguments_.heads + place_.head) * arguments_.query_length + first_query_;
    for (std::int64_t query = 0; query < queries_; ++query) {
      const float sum = rows_.sum[query];
      const bool is_empty = ((rows_.has_edges >> query) & 1) == 0;
      // Edges whose scores are all -infinity, or one of +infinity, have no softmax.
      const bool has_answer = sum > 0 && __builtin_isfinite(sum);
      const float answer = has_answer ? sum : std::numeric_limits<float>::quiet_NaN();
      rows_.factor[query] = is_empty ? 0.0F : 1.0F / answer;
      log_sum_exp[query] = is_empty ? -std::numeric_limits<float>::infinity() : rows_.maximum[query] + logf(answer);
    }
    for (std::int64_t query = 0; query < queries_; query += Isa::kLanes) {
      for (std::int64_t column = 0; column < arguments_.value_dim; column += Isa::kLanes) {
        store_tile(query, column);
      }
    }
  }

  void store_tile(std::int64_t query, std::int64_t column) noexcept {
    const std::int64_t columns = smaller(Isa::kLanes, arguments_.value_dim - column);
    const float* from = output_at(query, column);
    const typename Isa::Vector factor = Isa::load(rows_.factor + query);
    typename Isa::Vector tile[Isa::kLanes];
    for (std::int64_t row = 0; row < Isa::kLanes; ++row) {
      tile[row] = row < columns ? Isa::multiply(factor, Isa::load(from + row * kPanel)) : Isa::zero();
    }
    Isa::transpose(tile);
    for (std::int64_t row = 0; row < smaller(Isa::kLanes, queries_ - query); ++row) {
      Memory* to = row_of<Storage>(arguments_.output, {place_.batch, place_.head, first_query_ + query + row}) + column;
      narrow_part<Isa>(to, tile[row], columns);
    }
  }

  [[no_unique_address]] typename Units::Session session_;
  const AttentionArguments& arguments_;
  KeyBlocks<Isa, Storage> keys_;
  Buffer<Isa, Unit> query_panels_;  // [panel][unit of head_dim][kPanel]
  RelativePanel<Isa, Storage> relative_;
  Buffer<Isa, Unit> relative_panels_;  // as query_panels_
  Buffer<Isa, float> output_panels_;   // [panel][value_dim][kPanel]
  Buffer<Isa, float> scores_;          // [key of a run][kPanel]
  Buffer<Isa, Unit> pairs_;            // [pair of keys][kPanel]
  Buffer<Isa, float> weights_;
  const bool scales_late_;  // where a block has no own weights: nothing comes between product and exponential
  SoftmaxRows<Isa> rows_;
  KeyRun<Unit> run_;
  QueryPlace place_{};
  std::int64_t first_query_ = 0;
  std::int64_t queries_ = 0;
};

}  // namespace weft::kernels
