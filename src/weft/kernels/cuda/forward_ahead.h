// SPDX-License-Identifier: Apache-2.0
// The forward pass where tensor cores multiply slices of shared memory by themselves (wgmma): the weighted values of a
// block are under way while the next block has its softmax, behind whose scores they were begun.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/forward_rows.h"
#include "weft/kernels/cuda/met_slices.h"

namespace weft::kernels::cuda {

/// Whether all of a call's slices are whole: their columns, rows and keys, and nothing is padded. Then nothing is asked
/// of them while blocks are met.
template <typename Format>
bool is_plain(const DeviceCall& call) {
  const AttentionArguments& arguments = call.attention;
  const bool has_whole_rows = arguments.query_length % kSliceRows == 0 && arguments.key_length % kSliceRows == 0;
  const bool has_whole_columns = arguments.head_dim == Format::kColumns && arguments.value_dim % Format::kColumns == 0;
  return call.is_aligned && call.keep_words == nullptr && arguments.layout.tile_query == kSliceRows && has_whole_rows &&
         has_whole_columns;
}

/// Of calls without terms but dropout (kHasDraws); kIsPlain: which are plain.
template <typename Lanes, typename Format, bool kIsPlain, bool kHasDraws>
class ForwardAheadBlock {
  template <typename T>
  using Each = typename Lanes::template Each<T>;

 public:
  WEFT_DEVICE ForwardAheadBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item)
      : ForwardAheadBlock(lanes, call, at, item, key_head_of(call.attention, at.head)) {}

  /// Whether the block must run again, carefully.
  WEFT_DEVICE bool run() {
    sum_blocks();
    rows_.store();
    return rows_.is_lost();
  }

 private:
  WEFT_DEVICE ForwardAheadBlock(Lanes& lanes, const DeviceCall& call, const Place& at, const WorkItem& item,
                                std::int32_t key_head)
      : lanes_(lanes),
        item_(item),
        is_aligned_(call.is_aligned),
        rows_(lanes, call, at, item),
        query_(lanes, 0, rows_.queries()),
        plain_blocks_(plain_key_blocks(call, Format::kColumns)),
        keys_(lanes, call.attention.key, at, key_head),
        values_(lanes, call.attention.value, at, key_head),
        kept_(lanes, call, at) {}

  /// The slices of keys of the first block; those of the next one and the values of the one before, and so on; the
  /// values of the last one.
  struct Copy {
    WEFT_DEVICE void operator()(int to) {
      const int keys = of->query_.slices();
      const bool is_key = step < keys;
      const std::int32_t met = is_key ? block : before;
      if (met >= of->plain_blocks_) {
        of->rows_.copy_met(met, is_key, is_key ? step : 0, to);
      } else if (is_key) {
        of->keys_.copy(met, step, to);
      } else {
        of->values_.copy(met, of->rows_.chunk(), to);
      }
      const bool has_values = index > of->item_.begin;
      if (++step == keys + (has_values ? 1 : 0)) {
        before = block;
        ++index;
        step = index < of->item_.end ? 0 : keys;
        block = index < of->item_.end ? of->rows_.key_block(index) : 0;
      }
    }
    ForwardAheadBlock* of;
    std::int32_t index;
    int step;
    std::int32_t block;
    std::int32_t before;
  };
  using Slices = Ring<Lanes, kRingSlots - 2, Copy, true>;

  WEFT_DEVICE void sum_blocks() {
    rows_.begin();
    if constexpr (kIsPlain) {
      const KeyBlocks first = first_blocks();
      rows_.copy_plain_queries(query_.place(0));
      sum_narrow(first);
    } else {
      query_.copy(is_aligned_);
      if (query_.slices() == 1) {
        sum_narrow(first_blocks());
      } else {
        sum_wide();
      }
    }
    rows_.end_sums();
  }

  /// A block of keys that is met.
  struct KeyBlock {
    std::int32_t block;
    std::int32_t kind;
  };
  WEFT_DEVICE KeyBlock key_block(std::int32_t index) const {
    return index < item_.end ? KeyBlock{rows_.key_block(index), rows_.kind(index)} : KeyBlock{0, 0};
  }

  /// Three that follow each other: what is copied next is known before.
  struct KeyBlocks {
    KeyBlock now;
    KeyBlock next;
    KeyBlock later;
  };
  WEFT_DEVICE KeyBlocks first_blocks() const {
    return {{item_.met[0], item_.kind[0]}, {item_.met[1], item_.kind[1]}, key_block(item_.begin + 2)};
  }

  /// Where keys are one slice. Two places for keys and two for values: while the keys of a block and the values of the
  /// one before are multiplied, the next of both are copied.
  WEFT_DEVICE void sum_narrow(const KeyBlocks& first) {
    if (item_.begin >= item_.end) {
      return;
    }
    KeyBlock now = first.now;
    KeyBlock next = first.next;
    KeyBlock later = first.later;
    copy(now.block, true, key_place(0));
    copy_bits(now, 0);
    lanes_.commit();
    await_copies();
    begin_scores_of(0, key_place(0), false);
    copy_next(item_.begin, now, next);
    Met met = meet_narrow_block(item_.begin, now);
    lanes_.template wait_products<0>(scores_);
    weigh(met);
    WEFT_DEVICE_LOOP
    for (std::int32_t index = item_.begin + 1; index < item_.end; ++index) {
      now = next;
      next = later;
      await_copies();
      begin_scores_of(0, key_place(index - item_.begin), false);
      begin_values(value_place(index - item_.begin - 1));
      copy_next(index, now, next);
      later = key_block(index + 2);
      met = meet_narrow_block(index, now);  // what it reads comes while products are under way
      lanes_.template wait_products<1>(scores_);
      weigh(met);
    }
    await_copies();
    begin_values(value_place(item_.end - item_.begin - 1));
    lanes_.template wait_products<0>(rows_.output[0]);
  }
  WEFT_DEVICE int key_place(std::int32_t at) const { return ring_place<Format>(1) + (at & 1) * kSliceBytes; }
  WEFT_DEVICE int value_place(std::int32_t at) const { return ring_place<Format>(1) + (2 + (at & 1)) * kSliceBytes; }
  /// All that was begun to be copied is there, for products.
  WEFT_DEVICE void await_copies() {
    lanes_.template wait<0>();
    lanes_.publish();
    lanes_.barrier();
  }
  /// Begins to copy the keys of the block behind `index` and the values of this one.
  WEFT_DEVICE void copy_next(std::int32_t index, const KeyBlock& now, const KeyBlock& next) {
    if (index + 1 < item_.end) {
      copy(next.block, true, key_place(index + 1 - item_.begin));
      copy_bits(next, index + 1 - item_.begin);
    }
    copy(now.block, false, value_place(index - item_.begin));
    lanes_.commit();
  }
  WEFT_DEVICE void copy(std::int32_t block, bool is_key, int to) {
    if (!kIsPlain && block >= plain_blocks_) {
      rows_.copy_met(block, is_key, 0, to);
    } else if (is_key) {
      keys_.copy(block, 0, to);
    } else {
      values_.copy(block, rows_.chunk(), to);
    }
  }

  WEFT_DEVICE void sum_wide() {
    const std::int32_t steps = (item_.end - item_.begin) * (query_.slices() + 1);
    Slices slices(lanes_, ring_place<Format>(query_.slices()), steps, Copy{this, item_.begin, 0, item_.met[0], 0});
    if (item_.begin < item_.end) {
      sum_values(slices);
    }
  }

  WEFT_DEVICE void sum_values(Slices& slices) {
    begin_scores(slices);
    const Met first = meet_block(item_.begin, key_block(item_.begin));
    lanes_.template wait_products<0>(scores_);
    weigh(first);
    WEFT_DEVICE_LOOP
    for (std::int32_t index = item_.begin + 1; index < item_.end; ++index) {
      begin_scores(slices);
      begin_values(slices.next());
      const Met met = meet_block(index, key_block(index));  // what it reads comes while products are under way
      lanes_.template wait_products<1>(scores_);
      weigh(met);
    }
    begin_values(slices.next());
    lanes_.template wait_products<0>(rows_.output[0]);
  }

  /// Of plain calls: begins to copy the bits of a block that is not full, so that nobody waits for them.
  WEFT_DEVICE void copy_bits(const KeyBlock& of, std::int32_t at) {
    if constexpr (kIsPlain) {
      if (!pattern::is_full(of.kind)) {
        rows_.copy_bits(of.kind, bits_place(at));
      }
    }
  }
  WEFT_DEVICE int bits_place(std::int32_t at) const {
    return ring_place<Format>(1) + kRingSlots * kSliceBytes + (at & 1) * kBitsBytes;
  }
  WEFT_DEVICE Met meet_narrow_block(std::int32_t index, const KeyBlock& of) {
    if constexpr (kIsPlain) {
      draw(of);
      return pattern::is_full(of.kind) ? rows_.meet_whole_block()
                                       : rows_.meet_partial_block(bits_place(index - item_.begin));
    }
    return meet_block(index, of);
  }
  WEFT_DEVICE Met meet_block(std::int32_t index, const KeyBlock& of) {
    draw(of);
    const bool is_whole = pattern::is_full(of.kind) && of.block < plain_blocks_;
    return is_whole ? rows_.meet_whole_block() : rows_.meet_block(index);
  }

  /// What dropout keeps of a block.
  WEFT_DEVICE void draw(const KeyBlock& of) {
    if constexpr (kHasDraws) {
      kept_.draw(rows_.first_query(), std::int64_t{of.block} * kSliceRows);
    }
  }

  /// The softmax of a block whose scores are there. No product is under way when its weights are rounded: the compiler
  /// would make all of them wait for each other (C7513), as it does with scores that are begun a block ahead.
  WEFT_DEVICE void weigh(const Met& met) {
    rows_.find_maxima(met, scores_);
    rows_.soften(met, scores_);
    lanes_.order(rows_.sums());
    lanes_.template wait_products<0>(rows_.output[0]);
    rows_.rescale();
    if constexpr (kHasDraws) {
      kept_.scale_all(scores_);
    }
    pack_weights<Format>(lanes_, weights_, scores_);
  }

  /// Begins scores_ = Q K^T of a block, not scaled.
  WEFT_DEVICE void begin_scores(Slices& slices) {
    begin_scores_of(0, slices.next(), false);
    WEFT_DEVICE_LOOP
    for (int slice = 1; slice < query_.slices(); ++slice) {
      lanes_.template wait_products<0>(scores_);
      begin_scores_of(slice, slices.next(), true);
    }
  }
  WEFT_DEVICE void begin_scores_of(int slice, int place, bool adds) {
    lanes_.begin_products(scores_);
    lanes_.template multiply_slices<Format>(scores_, query_.place(slice), place, adds);
    lanes_.commit_products();
  }

  /// Begins to add the weighted values of the block before. The scores may be under way: the ring leaves the slice that
  /// was used last as it is.
  WEFT_DEVICE void begin_values(int place) {
    lanes_.begin_products(rows_.output[0], weights_);
    lanes_.template multiply_weights<Format>(rows_.output[0], weights_, place);
    lanes_.commit_products();
  }

  Lanes& lanes_;
  WorkItem item_;
  bool is_aligned_;
  ForwardRows<Lanes, Format, 1, false> rows_;
  OwnTile<Format, Lanes> query_;
  std::int32_t plain_blocks_;
  PlainCopies<Format, Lanes> keys_;
  PlainCopies<Format, Lanes> values_;
  KeptEntries<Lanes, true> kept_;
  Each<Scores> scores_;
  Each<PackedWeights> weights_;
};

}  // namespace weft::kernels::cuda
