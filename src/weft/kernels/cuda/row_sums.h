// SPDX-License-Identifier: Apache-2.0
// The passes that only sum: what the parts of long rows and columns left, in the order of the parts, and rowsum(dO O).
// They are as fast as memory gives: many threads a row, sixteen bytes a load, loads that do not wait for each other.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/cuda/edges.h"
#include "weft/kernels/cuda/own_rows.h"

namespace weft::kernels::cuda {

/// Rows that a thread block joins, so that a few long rows have many thread blocks.
inline constexpr int kJoinedRows = 8;

/// Four numbers of a row of `width`, from column `first` on; zeros beyond the last. Rows begin at multiples of their
/// width, and the first one at a multiple of sixteen bytes.
WEFT_DEVICE Four load_four(const float* row, std::int32_t first, std::int32_t width) {
  if (width % 4 == 0) {
    return floats_of(*reinterpret_cast<const Sixteen*>(row + first));
  }
  Four four{};
  unroll<4>([&](auto at) {
    if (first + at < width) {
      four.at[at] = row[first + at];
    }
  });
  return four;
}

/// store(row, first column) for each four columns of the rows [first_row, first_row + kJoinedRows) that are there.
template <typename Format, typename Work>
WEFT_DEVICE void each_four(int thread, int first_row, std::uint64_t there, std::int32_t width, const Work& work) {
  const std::int32_t fours = (width + 3) / 4;
  for (std::int32_t at = thread; at < kJoinedRows * fours; at += kThreads<Format>) {
    const std::int32_t row = at / fours;
    if (has_bit(there, first_row + row)) {
      work(first_row + row, (at - row * fours) * 4);
    }
  }
}

template <typename Format, typename Lanes>
WEFT_DEVICE void store_four(void* array, std::int64_t row, std::int32_t first, std::int32_t width, const Four& four) {
  unroll<4>([&](auto at) {
    if (first + at < width) {
      store_number<Format, Lanes>(array, row + first + at, four.at[at]);
    }
  });
}

/// The sums of a row of all parts of an item, four columns of them.
struct JoinedParts {
  const float* first;   ///< of the first part, the row
  std::int64_t stride;  ///< from a part to the next
  int count;
};
/// `row`: that of the first part, among the rows of all slots, of which each has `rows`.
WEFT_DEVICE JoinedParts parts_of_row(const float* partials, std::int64_t rows, std::int64_t row, std::int64_t width,
                                     int count) {
  return {partials + row * width, rows * width, count};
}

/// Parts whose loads are under way together.
inline constexpr int kPartsAtOnce = 8;

/// use(load(part)) for each part in its order; load() may be asked for the last one again.
template <typename Loaded, typename Load, typename Use>
WEFT_DEVICE void each_part(int count, const Load& load, const Use& use) {
  WEFT_DEVICE_LOOP
  for (int first = 0; first < count; first += kPartsAtOnce) {
    Loaded loaded[kPartsAtOnce];
    unroll<kPartsAtOnce>([&](auto at) { loaded[at] = load(first + at < count ? first + at : count - 1); });
    unroll<kPartsAtOnce>([&](auto at) {
      if (first + at < count) {
        use(loaded[at]);
      }
    });
  }
}

WEFT_DEVICE void add_parts(Four& sum, const JoinedParts& parts, std::int32_t column, std::int32_t width) {
  each_part<Four>(
      parts.count, [&](int part) { return load_four(parts.first + part * parts.stride, column, width); },
      [&](const Four& four) { unroll<4>([&](auto at) { sum.at[at] += four.at[at]; }); });
}

/// Joins some rows of the output of a long row.
template <typename Lanes, typename Format>
class JoinedOutput {
 public:
  WEFT_DEVICE JoinedOutput(const DeviceCall& call, const Place& at, const JoinItem& item)
      : call_(call), at_(at), item_(item), head_(at.batch * call.attention.heads + at.head) {}

  WEFT_DEVICE void join(Lanes& lanes, int first_row) {
    lanes.run([&](int thread) {
      const auto width = static_cast<std::int32_t>(call_.attention.value_dim);
      each_four<Format>(thread, first_row, queries_there(call_, item_.block), width,
                        [&](int row, std::int32_t column) { join_four(row, column, width); });
    });
  }

 private:
  static constexpr float kInfinite = std::numeric_limits<float>::infinity();

  struct Part {
    float maximum;
    float sum;
    Four output;
  };
  WEFT_DEVICE void join_four(int row, std::int32_t column, std::int32_t width) const {
    const std::int64_t rows = query_slot_rows(call_);
    const std::int64_t first = (head_ * call_.rows.slots + item_.slot) * rows + row;
    const JoinedParts maxima = parts_of_row(call_.partials.maximum, rows, first, 1, item_.count);
    const JoinedParts sums = parts_of_row(call_.partials.sum, rows, first, 1, item_.count);
    const JoinedParts outputs = parts_of_row(call_.partials.output, rows, first, width, item_.count);
    float maximum = -kInfinite;
    each_part<float>(
        item_.count, [&](int part) { return maxima.first[part * maxima.stride]; },
        [&](float of) { maximum = of > maximum ? of : maximum; });
    const bool is_empty = maximum == -kInfinite;
    float sum = 0;
    Four value{};
    each_part<Part>(
        item_.count,
        [&](int part) {
          return Part{maxima.first[part * maxima.stride], sums.first[part * sums.stride],
                      load_four(outputs.first + part * outputs.stride, column, width)};
        },
        [&](const Part& part) {
          if (part.maximum > -kInfinite) {  // one without edges adds nothing, whatever it left
            const float factor = Lanes::exp2((part.maximum - maximum) * kLogTwoOfE);
            sum += part.sum * factor;
            unroll<4>([&](auto at) { value.at[at] += part.output.at[at] * factor; });
          }
        });
    store(row, column, {is_empty, maximum, sum}, value);
  }

  struct RowSum {
    bool is_empty;
    float maximum;
    float sum;
  };
  WEFT_DEVICE void store(int row, std::int32_t column, const RowSum& of, Four value) const {
    const AttentionArguments& arguments = call_.attention;
    const float answer = of.sum > 0 && !is_lost_sum(of.sum) ? of.sum : std::numeric_limits<float>::quiet_NaN();
    const float factor = of.is_empty ? 0.0F : 1.0F / answer;
    unroll<4>([&](auto at) { value.at[at] *= factor; });
    const std::int64_t query = std::int64_t{item_.block} * arguments.layout.tile_query + row;
    store_four<Format, Lanes>(arguments.output.data, row_place(arguments.output, at_.batch, at_.head, query), column,
                              static_cast<std::int32_t>(arguments.value_dim), value);
    if (column == 0) {
      static_cast<float*>(arguments.log_sum_exp)[head_ * arguments.query_length + query] =
          of.is_empty ? -kInfinite : of.maximum + Lanes::log(answer);
    }
  }

  const DeviceCall& call_;
  Place at_;
  JoinItem item_;
  std::int64_t head_;
};

/// Sums the parts of some rows of a long row's dQ.
template <typename Lanes, typename Format>
WEFT_DEVICE void join_query_gradients(Lanes& lanes, const DeviceCall& call, const Place& at, const JoinItem& item,
                                      int first_row) {
  lanes.run([&](int thread) {
    const AttentionArguments& arguments = call.attention;
    const auto width = static_cast<std::int32_t>(arguments.head_dim);
    const auto scale = static_cast<float>(arguments.scale);
    const std::int64_t slot = (at.batch * arguments.heads + at.head) * call.rows.slots + item.slot;
    each_four<Format>(thread, first_row, queries_there(call, item.block), width, [&](int row, std::int32_t column) {
      Four sum{};
      const std::int64_t first = slot * kSliceRows + row;
      add_parts(sum, parts_of_row(call.partials.query, kSliceRows, first, width, item.count), column, width);
      unroll<4>([&](auto entry) { sum.at[entry] *= scale; });
      const Output& output = call.gradients.query_gradient;
      const std::int64_t query = std::int64_t{item.block} * arguments.layout.tile_query + row;
      store_four<Format, Lanes>(output.data, row_place(output, at.batch, at.head, query), column, width, sum);
    });
  });
}

/// One of the two arrays that are joined.
struct JoinedKeys {
  const float* partial;
  Output output;
  std::int64_t width;
  float scale;
};

/// Sums the parts of some rows of a long column, and the heads that share a key, in their order. at.head is a head of
/// keys.
template <typename Lanes, typename Format>
WEFT_DEVICE void join_key_gradients(Lanes& lanes, const DeviceCall& call, const Place& at, const JoinedKeys& keys,
                                    int first_row) {
  lanes.run([&](int thread) {
    const AttentionArguments& arguments = call.attention;
    const std::int32_t shared = heads_of_key(arguments);
    const std::int32_t first = at.head * shared;
    const auto join_of = [&](std::int32_t head) {
      const std::int64_t group = group_of(call, {0, at.batch, head, 0, 0});
      return call.columns.joins[call.columns.join_begin[group] + at.item];
    };
    const std::int64_t first_key = std::int64_t{join_of(first).block} * kSliceRows;
    const std::uint64_t there = first_bits(arguments.key_length - first_key);
    const auto width = static_cast<std::int32_t>(keys.width);
    each_four<Format>(thread, first_row, there, width, [&](int row, std::int32_t column) {
      Four sum{};
      for (std::int32_t head = first; head < first + shared; ++head) {
        const JoinItem item = join_of(head);
        const std::int64_t slot = (at.batch * arguments.heads + head) * call.columns.slots + item.slot;
        const JoinedParts parts = parts_of_row(keys.partial, kSliceRows, slot * kSliceRows + row, width, item.count);
        add_parts(sum, parts, column, width);
      }
      unroll<4>([&](auto entry) { sum.at[entry] *= keys.scale; });
      store_four<Format, Lanes>(keys.output.data, row_place(keys.output, at.batch, at.head, first_key + row), column,
                                width, sum);
    });
  });
}

/// rowsum(dO O): eight threads a row.
template <typename Lanes, typename Format>
class RowDeltas {
  template <typename T>
  using Each = typename Lanes::template Each<T>;
  static constexpr int kLanes = 8;
  static constexpr int kRounds = 4;
  static constexpr int kBetween = kThreads<Format> / kLanes;

 public:
  /// Of a thread block.
  static constexpr int kRows = kRounds * kBetween;

  WEFT_DEVICE RowDeltas(Lanes& lanes, const DeviceCall& call, const Place& at)
      : lanes_(lanes), call_(call), at_(at), is_aligned_(call.is_aligned && has_aligned_output(call)) {}

  WEFT_DEVICE void sum() {
    lanes_.run([&](int thread) {
      if (is_aligned_ && call_.attention.value_dim == kLanes * kChunk<Format>) {
        sum_chunks(thread);
      } else {
        unroll<kRounds>(
            [&](auto round) { sums_[round][thread] = sum_of_lane(query_of(thread, round), thread % kLanes); });
      }
    });
    unroll<kRounds>([&](auto round) {
      unroll<3>([&](auto bit) {
        lanes_.shuffle(other_, sums_[round], [&](int thread) { return thread % kWarp ^ (1 << bit); });
        lanes_.run([&](int thread) { sums_[round][thread] += other_[thread]; });
      });
    });
    lanes_.run([&](int thread) {
      unroll<kRounds>([&](auto round) {
        const std::int64_t query = query_of(thread, round);
        if (thread % kLanes == 0 && query < length()) {
          call_.delta[(at_.batch * call_.attention.heads + at_.head) * length() + query] = sums_[round][thread];
        }
      });
    });
  }

 private:
  static WEFT_DEVICE bool has_aligned_output(const DeviceCall& call) {
    const Output& output = call.attention.output;
    const std::int64_t strides = output.batch_stride | output.head_stride | output.row_stride;
    const auto size = static_cast<std::int64_t>(sizeof(typename Format::Element));
    return ((reinterpret_cast<std::uintptr_t>(output.data) | static_cast<std::uint64_t>(strides * size)) & 15) == 0;
  }
  WEFT_DEVICE std::int64_t length() const { return call_.attention.query_length; }
  WEFT_DEVICE std::int64_t query_of(int thread, int round) const {
    return std::int64_t{at_.item} * kRows + round * kBetween + thread / kLanes;
  }

  /// Rows of eight chunks of sixteen bytes: one a thread, of all rounds under way together.
  WEFT_DEVICE void sum_chunks(int thread) {
    const Input& gradient = call_.gradients.output_gradient;
    const Output& output = call_.attention.output;
    const int column = thread % kLanes * kChunk<Format>;
    Sixteen left[kRounds];
    Sixteen right[kRounds];
    unroll<kRounds>([&](auto round) {
      const std::int64_t query = query_of(thread, round) < length() ? query_of(thread, round) : length() - 1;
      left[round] = sixteen(gradient.data, row_place(gradient, at_.batch, at_.head, query) + column);
      right[round] = sixteen(output.data, row_place(output, at_.batch, at_.head, query) + column);
    });
    unroll<kRounds>([&](auto round) { sums_[round][thread] = dot_chunk(left[round], right[round], 0); });
  }

  /// Every eighth chunk of sixteen bytes of a row, from chunk `lane` on.
  WEFT_DEVICE float sum_of_lane(std::int64_t query, int lane) const {
    float sum = 0;
    if (query >= length()) {
      return sum;
    }
    const Input& gradient = call_.gradients.output_gradient;
    const Output& output = call_.attention.output;
    const std::int64_t first = row_place(gradient, at_.batch, at_.head, query);
    const std::int64_t second = row_place(output, at_.batch, at_.head, query);
    const auto width = static_cast<int>(call_.attention.value_dim);
    for (int column = lane * kChunk<Format>; column < width; column += kLanes * kChunk<Format>) {
      if (is_aligned_ && column + kChunk<Format> <= width) {
        sum = dot_chunk(sixteen(gradient.data, first + column), sixteen(output.data, second + column), sum);
      } else {
        for (int at = column; at < column + kChunk<Format> && at < width; ++at) {
          sum += load_number<Format, Lanes>(gradient.data, first + at) *
                 load_number<Format, Lanes>(output.data, second + at);
        }
      }
    }
    return sum;
  }
  static WEFT_DEVICE Sixteen sixteen(const void* array, std::int64_t at) {
    return *reinterpret_cast<const Sixteen*>(static_cast<const typename Format::Element*>(array) + at);
  }
  static WEFT_DEVICE float dot_chunk(const Sixteen& left, const Sixteen& right, float sum) {
    if constexpr (kIsHalf<Format>) {
      unroll<8>([&](auto at) {
        const auto number = [&](const Sixteen& of) {
          return Lanes::template unpack<Format>(static_cast<std::uint16_t>(of.word[at / 2] >> (at % 2 * 16)));
        };
        sum += number(left) * number(right);
      });
      return sum;
    } else {
      return dot(floats_of(left), floats_of(right), sum);
    }
  }

  Lanes& lanes_;
  const DeviceCall& call_;
  Place at_;
  bool is_aligned_;
  Each<float> sums_[kRounds];
  Each<float> other_;
};

}  // namespace weft::kernels::cuda
