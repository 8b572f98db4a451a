// SPDX-License-Identifier: Apache-2.0
// The fused backward pass over the transposed layout, five products a block. For a block of keys and each block of
// queries that sees it: P^T = exp(S^T - log-sum-exp), dP^T = V dO^T, dS^T = P^T (dP^T - delta); then dV += P^T dO,
// dK += dS^T Q, dQ += dS K. Key gradients stay in the cache; query gradients are float32 sums in memory, in the order
// of the key blocks.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/fused/head_tables.h"
#include "weft/kernels/fused/key_blocks.h"
#include "weft/kernels/fused/key_run.h"
#include "weft/kernels/fused/panels.h"
#include "weft/kernels/fused/query_blocks.h"
#include "weft/kernels/fused/query_sums.h"
#include "weft/kernels/fused/scores/distance_panel.h"
#include "weft/kernels/fused/scores/dropout_panel.h"
#include "weft/kernels/fused/scores/own_scores.h"
#include "weft/kernels/fused/scores/pair_scores.h"
#include "weft/kernels/fused/scores/relative_panel.h"
#include "weft/kernels/fused/spoiled_rows.h"

namespace weft::kernels {

/// What a block of keys adds to, beside its own gradients.
struct BackwardSums {
  QuerySums queries;
  HeadTables distances;
  QuerySums relative_queries;
  HeadTables relative_rows;
};

/// A block of keys of one key head.
struct KeyPlace {
  std::int64_t batch;
  std::int64_t key_head;
  std::int64_t key_block;
};

template <class Isa, class Storage>
class FusedBackward {
  using Memory = typename Storage::Memory;
  using Packer = MatrixPacker<Isa, Memory>;
  using Units = typename Packer::Units;
  using Unit = typename Packer::Unit;
  using Vector = typename Isa::Vector;

 public:
  FusedBackward(const AttentionArguments& arguments, const AttentionGradients& gradients,
                const RelativeRows<Isa, Storage>& relative_rows) noexcept
      : arguments_(arguments),
        gradients_(gradients),
        relative_(arguments, relative_rows),
        keys_(arguments, {Sides::kRowsAndSteps, Sides::kRows}),
        queries_(arguments, gradients),
        key_width_(round_up(arguments.head_dim, Isa::kLanes)),
        value_width_(round_up(arguments.value_dim, Isa::kLanes)),
        sums_(kMostColumns * part_size(arguments)),
        probabilities_(kTile * kPanel),
        score_gradients_(kTile * kPanel),
        pairs_(Packer::kPairs ? kTile * kPanel : 1),
        row_pairs_(Packer::kPairs ? kMostPanels<Unit> * kTile * kPanel : 1),
        weights_(kTile * kTile) {}

  bool is_there() const noexcept {
    return keys_.is_there() && queries_.is_there() && sums_.is_there() && probabilities_.is_there() &&
           score_gradients_.is_there() && pairs_.is_there() && row_pairs_.is_there() && weights_.is_there() &&
           relative_.is_there();
  }

  /// The most blocks of keys that go along their queries side by side, so that what is packed of the queries and their
  /// sums come from memory once for all of them. Panels of pairs are half as large, and their runs bring more.
  static constexpr std::int64_t kMostColumns = Packer::kPairs ? 1 : 4;

  /// Writes the gradients of `count` neighbouring blocks of keys from `place` on, at most kMostColumns, and adds to the
  /// sums of the queries that see them, in the order of the keys.
  void run(const KeyPlace& place, std::int64_t count, const BackwardSums& sums) noexcept {
    for (std::int64_t column = 0; column < count; ++column) {
      go_to(column);
      clear();
    }
    const std::int64_t group = arguments_.heads / arguments_.key_heads;
    for (std::int64_t head = place.key_head * group; head < (place.key_head + 1) * group; ++head) {
      add_columns(place, count, head, sums);
    }
    add_run();  // of one column: a run goes on from head to head
    for (std::int64_t column = 0; column < count; ++column) {
      go_to(column);
      store({place.batch, place.key_head, place.key_block + column});
    }
  }

  /// The same of one block of keys for some of the blocks in its column, counted over the heads that share it; the
  /// gradients are left in `part`: part_size() numbers.
  void run_part(const KeyPlace& place, const pattern::BlockRange& blocks, const BackwardSums& sums,
                float* part) noexcept {
    go_to(0);
    clear();
    add_blocks(place, blocks, sums);
    __builtin_memcpy(part, sums_.data(), static_cast<std::size_t>(part_size(arguments_)) * sizeof(float));
  }

  /// Writes the gradients of one block of keys from all of its parts, added in their order.
  void merge(const KeyPlace& place, const float* parts, std::int64_t count) noexcept {
    go_to(0);
    clear();
    const std::int64_t size = part_size(arguments_);
    for (std::int64_t part = 0; part < count; ++part) {
      for (std::int64_t at = 0; at < size; at += Isa::kLanes) {
        Isa::store(sums_.data() + at, Isa::add(Isa::load(sums_.data() + at), Isa::load(parts + part * size + at)));
      }
    }
    store(place);
  }

  static std::int64_t part_size(const AttentionArguments& arguments) noexcept {
    return kTile * (round_up(arguments.head_dim, Isa::kLanes) + round_up(arguments.value_dim, Isa::kLanes));
  }

 private:
  // From here on, sums are those of a column of run().
  void go_to(std::int64_t column) noexcept {
    key_sums_ = sums_.data() + column * part_size(arguments_);
    value_sums_ = key_sums_ + kTile * key_width_;
  }

  void clear() noexcept {
    __builtin_memset(key_sums_, 0, static_cast<std::size_t>(part_size(arguments_)) * sizeof(float));
  }

  void add_blocks(const KeyPlace& place, const pattern::BlockRange& blocks, const BackwardSums& sums) noexcept {
    const pattern::LayoutView& layout = arguments_.layout;
    const KeyBlock<Unit>& keys = keys_.get(place.batch, place.key_head, place.key_block);
    const std::int64_t group = arguments_.heads / arguments_.key_heads;
    std::int64_t before = 0;  // blocks of the heads before
    for (std::int64_t head = place.key_head * group; head < (place.key_head + 1) * group; ++head) {
      const pattern::BlockRange column = gradients_.transpose.column(layout, place.batch, head, place.key_block);
      const std::int64_t begin = column.begin + larger(blocks.begin - before, 0);
      const std::int64_t end = smaller(column.end, column.begin + blocks.end - before);
      for (std::int64_t at = begin; at < end; ++at) {
        const std::int64_t query_block = gradients_.transpose.query_block[at];
        add_block({place.batch, head, query_block * layout.tile_query}, place.key_block * kTile,
                  gradients_.transpose.block[at], keys, sums);
      }
      before += column.count();
    }
    add_run();
  }

  // What the queries of one head add to `count` blocks of keys: in their order, each to all blocks that it sees.
  void add_columns(const KeyPlace& place, std::int64_t count, std::int64_t head, const BackwardSums& sums) noexcept {
    const pattern::TransposeView& transpose = gradients_.transpose;
    pattern::BlockRange columns[kMostColumns];  // what is left of them
    for (std::int64_t column = 0; column < count; ++column) {
      columns[column] = transpose.column(arguments_.layout, place.batch, head, place.key_block + column);
    }
    for (std::int64_t next = next_query_block(columns, count); next >= 0; next = next_query_block(columns, count)) {
      for (std::int64_t column = 0; column < count; ++column) {
        std::int64_t& at = columns[column].begin;
        if (at == columns[column].end || transpose.query_block[at] != next) {
          continue;
        }
        go_to(column);
        const std::int64_t key_block = place.key_block + column;
        add_block({place.batch, head, next * arguments_.layout.tile_query}, key_block * kTile, transpose.block[at],
                  keys_.get(place.batch, place.key_head, key_block), sums);
        if (count > 1) {
          add_run();
        }
        ++at;
      }
    }
  }

  // The first block of queries in what is left of columns; -1 where nothing is.
  std::int64_t next_query_block(const pattern::BlockRange* columns, std::int64_t count) const noexcept {
    std::int64_t next = -1;
    for (std::int64_t column = 0; column < count; ++column) {
      if (columns[column].count() > 0) {
        const std::int64_t first = gradients_.transpose.query_block[columns[column].begin];
        next = next < 0 ? first : smaller(next, first);
      }
    }
    return next;
  }

  // `first` is the first query of the block.
  void add_block(const RowIndex& first, std::int64_t first_key, std::int64_t block, const KeyBlock<Unit>& keys,
                 const BackwardSums& sums) noexcept {
    const std::int64_t query_block = first.row / arguments_.layout.tile_query;
    const std::int64_t number = queries_.number(first.batch, first.head, query_block);
    for (std::int64_t at = 0; at < run_.count; ++at) {
      if (queries_.evicts(number, run_.query_block[at])) {
        add_run();
      }
    }
    const QueryBlock<Unit>& queries = queries_.get(first.batch, first.head, query_block);
    BlockMask<Isa> mask(arguments_.layout, {block, queries.queries, keys.keys, keys.padded}, weights_.data());
    if (has_positions(arguments_)) {
      mask.restrict_to({arguments_, first, queries.queries, first_key});
    }
    each_panel<Isa, Units>(mask, queries.queries, [&](const Panel& panel) {
      if (!run_.takes(panel.range)) {
        add_run();
      }
      add_panel(panel, mask, queries, {first, first_key}, keys, sums);
      run_.query_block[run_.count++] = number;
    });
  }

  // Where a block of queries and one of keys begin.
  struct BlockStart {
    RowIndex query;
    std::int64_t key;
  };

  void add_panel(const Panel& panel, const BlockMask<Isa>& mask, const QueryBlock<Unit>& queries,
                 const BlockStart& first, const KeyBlock<Unit>& keys, const BackwardSums& sums) noexcept {
    const PanelSpan span{panel.vectors, first.query.row + panel.query, first.key, panel.range.begin, panel.range.end};
    const QuerySumRow query_sums = sums.queries.row(first.query, panel.query);
    float* table = sums.distances.of(first.query.head);
    const bool is_spoiled = queries.spoiled.touches(panel);
    const bool takes_relative = relative_.is_on() && gradients_.relative_rows_gradient != nullptr;
    if constexpr (Packer::kPairs) {
      const bool is_plain = arguments_.dropout.probability == 0.0F && !mask.has_own() && table == nullptr;
      if (is_plain && !is_spoiled && !takes_relative && panel.vectors * Isa::kLanes % kStepNumbers<Units> == 0) {
        const bool scales_late = !relative_.is_on() && !PanelDistances<Isa>(arguments_.distances).is_on();
        make_scores(panel, queries, keys, scales_late ? 1.0F : scale());
        add_biases(panel, mask, queries, first.query, span);
        differentiate_in_pairs(panel, mask, queries, scales_late ? scale() : 1.0F);
        return add_products(panel, queries, keys, query_sums, true);
      }
    }
    make_scores(panel, queries, keys, scale());
    add_biases(panel, mask, queries, first.query, span);
    make_gradients(panel, mask, queries, first.query, span);
    if (table != nullptr) {
      take_distances(panel, mask, queries.spoiled, span, table);
    }
    if (is_spoiled) {
      add_spoiled(panel, mask, queries, first.query, query_sums);
    }
    if (takes_relative) {
      take_relative(panel, mask, queries, first.query, span, sums);
    }
    add_products(panel, queries, keys, query_sums, false);
  }

  // Adds dS^T to the sums of a distance table; the products want it times the scale.
  void take_distances(const Panel& panel, const BlockMask<Isa>& mask, const SpoiledQueries& spoiled,
                      const PanelSpan& span, float* table) noexcept {
    const PanelDistances<Isa> distances(arguments_.distances);
    distances.take(score_gradients(panel), scale(), span, table);
    const std::uint64_t rows = (spoiled.any() >> panel.query) & low_bits(panel.queries);
    for (std::int64_t key = panel.range.begin; key < panel.range.end && rows != 0; ++key) {
      distances.spoil(key, (mask.seen_by(key) >> panel.query) & rows, span, table);
    }
  }

  // dQ2 and dR, of score gradients from which rows that are not finite are taken out.
  void take_relative(const Panel& panel, const BlockMask<Isa>& mask, const QueryBlock<Unit>& queries,
                     const RowIndex& first, const PanelSpan& span, const BackwardSums& sums) noexcept {
    const RelativeSums own{sums.relative_queries.row(first, panel.query), sums.relative_rows.of(first.head)};
    relative_.take(first.head, queries.relative, panel, span, score_gradients(panel), own);
    if (!queries.spoiled.touches(panel)) {
      return;
    }
    const SpoiledPanel<Isa, Memory> spoiled(panel, queries.spoiled, mask);
    spoiled.add_to_queries(own.queries, key_width_);
    const std::uint64_t lost = (queries.spoiled.any() >> panel.query) & low_bits(panel.queries);
    for (std::int64_t key = panel.range.begin; key < panel.range.end; ++key) {
      relative_.spoil(first.head, key, (mask.seen_by(key) >> panel.query) & lost, panel, span, own.rows);
    }
  }

  // Takes rows that are not finite out of what add_products() multiplies.
  void add_spoiled(const Panel& panel, const BlockMask<Isa>& mask, const QueryBlock<Unit>& queries,
                   const RowIndex& first, const QuerySumRow& query_sums) noexcept {
    const SpoiledPanel<Isa, Memory> spoiled(panel, queries.spoiled, mask);
    spoiled.silence(score_gradients(panel));
    spoiled.add_to_keys(probabilities(panel),
                        {row_of<Storage>(gradients_.output_gradient, first), gradients_.output_gradient.row_stride,
                         queries.queries, arguments_.value_dim},
                        {key_sums_, value_sums_, key_width_, value_width_});
    spoiled.add_to_queries(query_sums, key_width_);
  }

  float scale() const noexcept { return static_cast<float>(arguments_.scale); }
  // Of the panel's first query.
  float* probabilities(const Panel& panel) const noexcept { return probabilities_.data() + panel.lane(); }
  float* score_gradients(const Panel& panel) const noexcept { return score_gradients_.data() + panel.lane(); }
  // By pairs of queries, in the next place of the run.
  Unit* probability_rows() const noexcept { return row_pairs_.data() + run_.count * kTile * kPanel; }
  Unit* gradient_rows() const noexcept { return probability_rows() + kTile * kPanel / 2; }

  // S^T, times `score_scale`, and dP^T of the panel.
  void make_scores(const Panel& panel, const QueryBlock<Unit>& queries, const KeyBlock<Unit>& keys,
                   float score_scale) noexcept {
    const std::int64_t begin = panel.range.begin;
    const std::int64_t count = panel.range.count();
    const std::int64_t key_units = Packer::units(arguments_.head_dim);
    const std::int64_t value_units = Packer::units(arguments_.value_dim);
    scaled_product<Isa, Units>(
        {keys.key.rows.from_row(begin), queries.query_panels + panel.in_panels(key_units), kPanel, key_units},
        {probabilities(panel) + begin * kPanel, kPanel, count, panel.vectors}, score_scale);
    scaled_product<Isa, Units>({keys.value.rows.from_row(begin),
                                queries.output_gradient_panels + panel.in_panels(value_units), kPanel, value_units},
                               {score_gradients(panel) + begin * kPanel, kPanel, count, panel.vectors}, 1.0F);
  }

  // What is added to S^T.
  void add_biases(const Panel& panel, const BlockMask<Isa>& mask, const QueryBlock<Unit>& queries,
                  const RowIndex& first, const PanelSpan& span) noexcept {
    if (relative_.is_on()) {
      relative_.start();  // what it keeps is of other queries
      relative_.add(first.head, queries.relative_panels, panel, span, probabilities(panel));
    }
    const PanelDistances<Isa> distances(arguments_.distances);
    if (distances.is_on()) {
      distances.apply(first.head, probabilities(panel), span);
    }
    replace_own_scores(mask, panel, probabilities(panel));
  }

  // Turns S^T into P^T, dP^T into scale * dS^T, or dS^T where a distance table takes it first; dropout scales what is
  // passed on, not what is summed.
  void make_gradients(const Panel& panel, const BlockMask<Isa>& mask, const QueryBlock<Unit>& queries,
                      const RowIndex& first, const PanelSpan& span) noexcept {
    const PanelDropout<Isa> dropout(arguments_.dropout, first.batch, first.head);
    PanelBits<Isa> kept;
    if (dropout.is_on()) {
      dropout.draw(span, kept);
      dropout.apply(score_gradients(panel), span, kept);
    }
    for (std::int64_t lane = 0; lane < panel.vectors * Isa::kLanes; lane += Isa::kLanes) {
      const Derivative derivative = derivative_of(panel, mask, queries, lane);
      for (std::int64_t key = panel.range.begin; key < panel.range.end; ++key) {
        const Gradient gradient = derivative.at(key);
        Isa::store(probabilities(panel) + key * kPanel + lane, gradient.probability);
        Isa::store(score_gradients(panel) + key * kPanel + lane, gradient.score);
      }
    }
    silence_own_scores(mask, panel, score_gradients(panel));
    if (dropout.is_on()) {
      dropout.apply(probabilities(panel), span, kept);
    }
  }

  // The same where nothing else looks at the numbers: rounded while they are in registers. Scores are still to be
  // multiplied by `score_scale`.
  void differentiate_in_pairs(const Panel& panel, const BlockMask<Isa>& mask, const QueryBlock<Unit>& queries,
                              float score_scale) noexcept {
    const std::int64_t begin = panel.range.begin;
    const std::int64_t whole = begin + round_up(panel.range.count(), kStepNumbers<Units>);
    for (std::int64_t lane = 0; lane < panel.vectors * Isa::kLanes; lane += Isa::kLanes) {
      const Derivative derivative = derivative_of(panel, mask, queries, lane);
      const auto take = [&](std::int64_t key) __attribute__((always_inline)) {
        const Gradient gradient = key < panel.range.end ? derivative.at_short(key, Isa::set(score_scale))
                                                        : Gradient{Isa::zero(), Isa::zero()};
        Units::store_row(probability_rows() + (key * kPanel + lane) / 2, gradient.probability);
        Units::store_row(gradient_rows() + (key * kPanel + lane) / 2, gradient.score);
        return gradient.score;
      };
      for (std::int64_t key = begin; key < whole; key += 2) {
        const Vector even = take(key);
        Units::store_pair(pairs_.data() + (key - begin) / 2 * kPanel + lane, even, take(key + 1));
      }
    }
  }

  // Of a key and a vector of queries: P, and scale * dS.
  struct Gradient {
    Vector probability;
    Vector score;
  };

  // Makes them of S^T and dP^T.
  struct Derivative {
    const float* scores;
    const float* incoming;
    Vector log_sum_exp;
    Vector delta;
    Vector scale;
    const BlockMask<Isa>& mask;
    std::int64_t query;  // of the first lane
    bool is_masked;

    [[gnu::always_inline]] Gradient at(std::int64_t key) const noexcept {
      const Vector exponent = Isa::subtract(Isa::load(scores + key * kPanel), log_sum_exp);
      return gradient_of(key, exponential<Isa>(weighted(key, exponent)));
    }
    // Of numbers that are rounded to bfloat16 next.
    [[gnu::always_inline]] Gradient at_short(std::int64_t key, Vector score_scale) const noexcept {
      const Vector exponent = Isa::multiply_subtract(score_scale, Isa::load(scores + key * kPanel), log_sum_exp);
      return gradient_of(key, short_exponential<Isa>(weighted(key, exponent)));
    }
    [[gnu::always_inline]] Vector weighted(std::int64_t key, Vector exponent) const noexcept {
      const float* weights = mask.weights();
      return weights == nullptr ? exponent : Isa::add(exponent, Isa::load(weights + key * kTile + query));
    }

    [[gnu::always_inline]] Gradient gradient_of(std::int64_t key, Vector probability) const noexcept {
      const Vector gradient =
          Isa::multiply(Isa::multiply(probability, scale), Isa::subtract(Isa::load(incoming + key * kPanel), delta));
      if (!is_masked) {
        return {probability, gradient};
      }
      const auto edges = Isa::lanes_of(mask.seen_by(key) >> query);
      return {Isa::select(edges, probability, Isa::zero()), Isa::select(edges, gradient, Isa::zero())};
    }
  };

  Derivative derivative_of(const Panel& panel, const BlockMask<Isa>& mask, const QueryBlock<Unit>& queries,
                           std::int64_t lane) const noexcept {
    const std::int64_t query = panel.query + lane;
    return {probabilities(panel) + lane,
            score_gradients(panel) + lane,
            Isa::load(queries.log_sum_exp + query),
            Isa::load(queries.delta + query),
            Isa::set(gradients_.distance_gradient == nullptr ? scale() : 1.0F),
            mask,
            query,
            panel.range.is_masked};
  }

  // dQ += dS K, and what the run adds to dV and dK. `is_paired`: differentiate_in_pairs() has made the operands.
  void add_products(const Panel& panel, const QueryBlock<Unit>& queries, const KeyBlock<Unit>& keys,
                    const QuerySumRow& query_sums, bool is_paired) noexcept {
    const KeyRange& range = panel.range;
    const std::int64_t query_units = Packer::units(panel.queries);
    const std::int64_t first_unit = panel.query / Units::kPerUnit;
    const Unit* pairs = pairs_.data();
    Operand<Unit> of_values;
    Operand<Unit> of_keys;
    if (is_paired) {
      of_values = {probability_rows() + range.begin * kPanel / 2, kPanel / 2, 1};
      of_keys = {gradient_rows() + range.begin * kPanel / 2, kPanel / 2, 1};
    } else {
      of_values = pair_queries<Isa, Units>(probabilities(panel), probability_rows(), range, panel.vectors);
      of_keys = pair_queries<Isa, Units>(score_gradients(panel), gradient_rows(), range, panel.vectors);
      pairs = pair_keys<Isa, Units>(score_gradients(panel), pairs_.data(), range, panel.vectors);
    }
    run_.range = range;
    run_.values[run_.count] = {of_values, queries.output_gradient.step(first_unit), queries.output_gradient.step_stride,
                               query_units};
    run_.keys[run_.count] = {of_keys, queries.query.step(first_unit), queries.query.step_stride, query_units};
    product<Isa, Units>(
        {turn_pairs<Isa, Units>(pairs, pairs_.data(), range, panel.vectors),
         keys.key.step(range.begin / Units::kPerUnit), keys.key.step_stride, Packer::units(range.count())},
        {query_sums.data, query_sums.stride, panel.queries, key_width_ / Isa::kLanes}, Added<Isa>{});
  }

  // dV += P^T dO, dK += dS^T Q over the panels of the run, and begins another.
  void add_run() noexcept {
    if (run_.count == 0) {
      return;
    }
    const std::int64_t begin = run_.range.begin;
    const std::int64_t count = run_.range.count();
    summed_products<Isa, Units>({run_.values, run_.count},
                                {value_sums_ + begin * value_width_, value_width_, count, value_width_ / Isa::kLanes},
                                Added<Isa>{});
    summed_products<Isa, Units>({run_.keys, run_.count},
                                {key_sums_ + begin * key_width_, key_width_, count, key_width_ / Isa::kLanes},
                                Added<Isa>{});
    run_.count = 0;
  }

  void store(const KeyPlace& place) noexcept {
    const std::int64_t keys = smaller(kTile, arguments_.key_length - place.key_block * kTile);
    for (std::int64_t key = 0; key < keys; ++key) {
      const RowIndex at{place.batch, place.key_head, place.key_block * kTile + key};
      narrow_row<Isa>(row_of<Storage>(gradients_.key_gradient, at), key_sums_ + key * key_width_, arguments_.head_dim);
      narrow_row<Isa>(row_of<Storage>(gradients_.value_gradient, at), value_sums_ + key * value_width_,
                      arguments_.value_dim);
    }
  }

  [[no_unique_address]] typename Units::Session session_;
  const AttentionArguments& arguments_;
  const AttentionGradients& gradients_;
  RelativePanel<Isa, Storage> relative_;
  KeyBlocks<Isa, Storage> keys_;
  QueryBlocks<Isa, Storage> queries_;
  std::int64_t key_width_;
  std::int64_t value_width_;
  Buffer<Isa, float> sums_;             // of each column dK, then dV
  float* key_sums_ = nullptr;           // [key][key_width_]
  float* value_sums_ = nullptr;         // [key][value_width_]
  Buffer<Isa, float> probabilities_;    // S^T, then P^T: [key][kPanel]
  Buffer<Isa, float> score_gradients_;  // dP^T, then dS^T: [key][kPanel]
  Buffer<Isa, Unit> pairs_;             // dS^T by pairs of keys
  Buffer<Isa, Unit> row_pairs_;         // of each panel of the run P^T, then dS^T by pairs of queries
  Buffer<Isa, float> weights_;
  PanelRun<Unit> run_;
};

}  // namespace weft::kernels
