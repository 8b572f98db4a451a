// SPDX-License-Identifier: Apache-2.0
// The ring in the vectors of one instruction set. Rows are widened to float32 as they come, each head's columns padded
// to whole vectors: of the satellites' own rows three are there at a time. Scores lie by key, so that a softmax takes
// as many heads at once as a vector has lanes.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/training/ring.h"

namespace weft::kernels {

inline constexpr int kRingKeys = 5;
inline constexpr int kRingText = 3;  ///< of the keys, behind the satellite's neighbours and itself
inline constexpr int kRingRelay = 4;

/// What a satellite asks and sees, keys before values.
template <class Isa, typename Memory>
class RingRows {
 public:
  using Vector = typename Isa::Vector;

  RingRows(const RingCall& call, std::int64_t member) noexcept
      : call_(call),
        numbers_(call.heads * call.head_dim),
        head_(round_up(call.head_dim, Isa::kLanes)),
        width_(call.heads * head_),
        factor_(1.0F / __builtin_sqrtf(static_cast<float>(call.head_dim))),
        queries_(static_cast<const Memory*>(call.queries) + member * call.length * numbers_),
        own_(static_cast<const Memory*>(call.own) + member * call.length * 2 * numbers_),
        text_(static_cast<const Memory*>(call.text) + member * call.length * 2 * numbers_),
        hidden_(call.hidden == nullptr ? nullptr : call.hidden + member * call.length) {
    widen_pair(static_cast<const Memory*>(call.relay) + member * 2 * numbers_, relay_row_);
    read_own(-1);
    read_own(0);
  }

  /// Reads what satellite `at` asks and sees; behind turn_to(at - 1).
  void turn_to(std::int64_t at) noexcept {
    read_own(at + 1);
    widen_row(queries_ + at * numbers_, query_);
    for (std::int64_t column = 0; column < width_; column += Isa::kLanes) {
      Isa::store(query_ + column, Isa::multiply(Isa::load(query_ + column), Isa::set(factor_)));
    }
    widen_pair(text_ + at * 2 * numbers_, text_row_);
    for (int key = 0; key < kRingText; ++key) {
      keys_[key] = own_rows_[slot(at - 1 + key)];
    }
  }

  /// The softmax of the satellite's scores into weights[key][head].
  void weigh(float (&weights)[kRingKeys][kMostRingHeads]) const noexcept {
    products(query_, 0, weights);
    for (std::int64_t head = 0; head < call_.heads; head += Isa::kLanes) {
      Vector most = Isa::load(weights[0] + head);
      for (int key = 1; key < kRingKeys; ++key) {
        most = Isa::maximum(Isa::load(weights[key] + head), most);
      }
      Vector total = Isa::zero();
      Vector each[kRingKeys];
      for (int key = 0; key < kRingKeys; ++key) {
        each[key] = exponential<Isa>(Isa::subtract(Isa::load(weights[key] + head), most));
        total = Isa::add(total, each[key]);
      }
      const Vector scale = Isa::set(1.0F) / total;
      for (int key = 0; key < kRingKeys; ++key) {
        Isa::store(weights[key] + head, Isa::multiply(each[key], scale));
      }
    }
  }

  /// The product of each head of `row` with that of each key, or of each value `behind` = width(): to[key][head].
  void products(const float* row, std::int64_t behind, float (&to)[kRingKeys][kMostRingHeads]) const noexcept {
    for (std::int64_t head = 0; head < call_.heads; ++head) {
      Vector sums[kRingKeys];
      for (Vector& sum : sums) {
        sum = Isa::zero();
      }
      for (std::int64_t column = head * head_; column < (head + 1) * head_; column += Isa::kLanes) {
        const Vector own = Isa::load(row + column);
        for (int key = 0; key < kRingKeys; ++key) {
          sums[key] = Isa::multiply_add(own, Isa::load(keys_[key] + behind + column), sums[key]);
        }
      }
      for (int key = 0; key < kRingKeys; ++key) {
        to[key][head] = sum_of_lanes(sums[key]);
      }
    }
  }

  // work(head, column of a padded row, column in memory, numbers that exist there) for the vectors of a row.
  template <typename Work>
  [[gnu::always_inline]] void each_vector(const Work& work) const noexcept {
    for (std::int64_t head = 0; head < call_.heads; ++head) {
      for (std::int64_t column = 0; column < head_; column += Isa::kLanes) {
        work(head, head * head_ + column, head * call_.head_dim + column, call_.head_dim - column);
      }
    }
  }

  void widen_row(const Memory* from, float* to) const noexcept {
    each_vector([&](std::int64_t, std::int64_t column, std::int64_t place, std::int64_t count) {
      Isa::store(to + column, widen_part<Isa>(from + place, count));
    });
  }
  void narrow_pair(const float* from, Memory* to) const noexcept {
    each_vector([&](std::int64_t, std::int64_t column, std::int64_t place, std::int64_t count) {
      narrow_part<Isa>(to + place, Isa::load(from + column), count);
      narrow_part<Isa>(to + numbers_ + place, Isa::load(from + width_ + column), count);
    });
  }
  void zero_pair(float* row) const noexcept {
    __builtin_memset(row, 0, static_cast<std::size_t>(2 * width_) * sizeof(float));
  }

  static int slot(std::int64_t row) noexcept { return static_cast<int>((row + 3) % 3); }
  bool is_hidden(std::int64_t row) const noexcept { return hidden_ != nullptr && hidden_[row]; }
  std::int64_t numbers() const noexcept { return numbers_; }
  std::int64_t width() const noexcept { return width_; }
  float factor() const noexcept { return factor_; }
  const float* query() const noexcept { return query_; }  ///< times the factor
  const float* key(int which) const noexcept { return keys_[which]; }
  const float* value(int which) const noexcept { return keys_[which] + width_; }

 private:
  void widen_pair(const Memory* from, float* to) const noexcept {
    widen_row(from, to);
    widen_row(from + numbers_, to + width_);
  }

  void read_own(std::int64_t row) noexcept {
    if (row < 0 || row >= call_.length || is_hidden(row)) {
      zero_pair(own_rows_[slot(row)]);
    } else {
      widen_pair(own_ + row * 2 * numbers_, own_rows_[slot(row)]);
    }
  }

  static float sum_of_lanes(Vector sums) noexcept {
    float lanes[Isa::kLanes];
    Isa::store(lanes, sums);
    for (int half = Isa::kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        lanes[lane] += lanes[lane + half];
      }
    }
    return lanes[0];
  }

  const RingCall& call_;
  std::int64_t numbers_;  // of a row in memory
  std::int64_t head_;     // columns of a padded head
  std::int64_t width_;
  float factor_;
  const Memory* queries_;
  const Memory* own_;
  const Memory* text_;
  const bool* hidden_;
  alignas(64) float query_[kMostRingWidth];
  alignas(64) float own_rows_[3][2 * kMostRingWidth];
  alignas(64) float text_row_[2 * kMostRingWidth];
  alignas(64) float relay_row_[2 * kMostRingWidth];
  const float* keys_[kRingKeys] = {nullptr, nullptr, nullptr, text_row_, relay_row_};
};

template <class Isa, typename Memory>
void ring_forward_of(const RingCall& call, std::int64_t member, Memory* output) noexcept {
  using Vector = typename Isa::Vector;
  RingRows<Isa, Memory> rows(call, member);
  alignas(64) float weights[kRingKeys][kMostRingHeads] = {};
  output += member * call.length * rows.numbers();
  for (std::int64_t at = 0; at < call.length; ++at, output += rows.numbers()) {
    rows.turn_to(at);
    rows.weigh(weights);
    rows.each_vector([&](std::int64_t head, std::int64_t column, std::int64_t place, std::int64_t count) {
      Vector sum = Isa::zero();
      for (int key = 0; key < kRingKeys; ++key) {
        sum = Isa::multiply_add(Isa::set(weights[key][head]), Isa::load(rows.value(key) + column), sum);
      }
      narrow_part<Isa>(output + place, sum, count);
    });
  }
}

/// Gradients of one member. Those of an own row are sums over the three satellites that see it, and are written behind
/// the last of them; those of the relay are sums over all, 64 of them before they are added to those before.
template <class Isa, typename Memory>
class RingGradientPass {
  using Vector = typename Isa::Vector;

 public:
  RingGradientPass(const RingCall& call, std::int64_t member, const RingGradients& gradients) noexcept
      : call_(call),
        rows_(call, member),
        given_(static_cast<const Memory*>(gradients.output) + member * call.length * rows_.numbers()),
        queries_(static_cast<Memory*>(gradients.queries) + member * call.length * rows_.numbers()),
        own_(static_cast<Memory*>(gradients.own) + member * call.length * 2 * rows_.numbers()),
        text_(static_cast<Memory*>(gradients.text) + member * call.length * 2 * rows_.numbers()),
        relay_(static_cast<Memory*>(gradients.relay) + member * 2 * rows_.numbers()) {}

  void run() noexcept {
    float* const sums[] = {own_sums_[0], own_sums_[1], own_sums_[2], some_, total_};
    for (float* const row : sums) {
      rows_.zero_pair(row);
    }
    for (std::int64_t at = 0; at < call_.length; ++at) {
      rows_.zero_pair(own_sums_[rows_.slot(at + 1)]);
      rows_.turn_to(at);
      rows_.widen_row(given_ + at * rows_.numbers(), given_row_);
      find_slopes();
      add_row(at);
      if (at > 0) {
        write_own(at - 1);
      }
      if (at % kSome == kSome - 1) {
        gather();
      }
    }
    write_own(call_.length - 1);
    gather();
    rows_.narrow_pair(total_, relay_);
  }

 private:
  static constexpr std::int64_t kSome = 64;

  // With p the weights and g what is given: dv = p g and ds = p (g v - sum p g v).
  void find_slopes() noexcept {
    rows_.weigh(weights_);
    rows_.products(given_row_, rows_.width(), slopes_);
    for (std::int64_t head = 0; head < call_.heads; head += Isa::kLanes) {
      Vector mean = Isa::zero();
      for (int key = 0; key < kRingKeys; ++key) {
        mean = Isa::multiply_add(Isa::load(weights_[key] + head), Isa::load(slopes_[key] + head), mean);
      }
      for (int key = 0; key < kRingKeys; ++key) {
        const Vector above = Isa::subtract(Isa::load(slopes_[key] + head), mean);
        Isa::store(slopes_[key] + head, Isa::multiply(Isa::load(weights_[key] + head), above));
      }
    }
  }

  // dq = sum ds k and dk = ds q, where one of the two has the factor of the scores.
  void add_row(std::int64_t at) noexcept {
    Memory* const query = queries_ + at * rows_.numbers();
    Memory* const text = text_ + at * 2 * rows_.numbers();
    float* const sums[kRingKeys] = {own_sums_[rows_.slot(at - 1)], own_sums_[rows_.slot(at)],
                                    own_sums_[rows_.slot(at + 1)], nullptr, some_};
    const Vector factor = Isa::set(rows_.factor());
    rows_.each_vector([&](std::int64_t head, std::int64_t column, std::int64_t place, std::int64_t count) {
      const Vector asked = Isa::load(rows_.query() + column);
      const Vector given = Isa::load(given_row_ + column);
      Vector of_query = Isa::zero();
      for (int key = 0; key < kRingKeys; ++key) {
        const Vector slope = Isa::set(slopes_[key][head]);
        const Vector weight = Isa::set(weights_[key][head]);
        of_query = Isa::multiply_add(slope, Isa::load(rows_.key(key) + column), of_query);
        if (key == kRingText) {
          narrow_part<Isa>(text + place, Isa::multiply(slope, asked), count);
          narrow_part<Isa>(text + rows_.numbers() + place, Isa::multiply(weight, given), count);
        } else {
          add_to(sums[key] + column, slope, asked);
          add_to(sums[key] + rows_.width() + column, weight, given);
        }
      }
      narrow_part<Isa>(query + place, Isa::multiply(of_query, factor), count);
    });
  }

  [[gnu::always_inline]] static void add_to(float* sum, Vector a, Vector b) noexcept {
    Isa::store(sum, Isa::multiply_add(a, b, Isa::load(sum)));
  }

  void write_own(std::int64_t row) noexcept {
    float* const sums = own_sums_[rows_.slot(row)];
    if (rows_.is_hidden(row)) {
      rows_.zero_pair(sums);
    }
    rows_.narrow_pair(sums, own_ + row * 2 * rows_.numbers());
  }

  void gather() noexcept {
    for (std::int64_t column = 0; column < 2 * rows_.width(); column += Isa::kLanes) {
      Isa::store(total_ + column, Isa::add(Isa::load(total_ + column), Isa::load(some_ + column)));
    }
    rows_.zero_pair(some_);
  }

  const RingCall& call_;
  RingRows<Isa, Memory> rows_;
  const Memory* given_;
  Memory* queries_;
  Memory* own_;
  Memory* text_;
  Memory* relay_;
  alignas(64) float weights_[kRingKeys][kMostRingHeads] = {};
  alignas(64) float slopes_[kRingKeys][kMostRingHeads] = {};
  alignas(64) float given_row_[kMostRingWidth];
  alignas(64) float own_sums_[3][2 * kMostRingWidth];
  alignas(64) float some_[2 * kMostRingWidth];
  alignas(64) float total_[2 * kMostRingWidth];
};

template <class Isa>
void run_ring_forward(const RingCall& call, std::int64_t member, void* output) noexcept {
  if (call.dtype == DType::kBFloat16) {
    ring_forward_of<Isa>(call, member, static_cast<std::uint16_t*>(output));
  } else {
    ring_forward_of<Isa>(call, member, static_cast<float*>(output));
  }
}

template <class Isa>
void run_ring_backward(const RingCall& call, std::int64_t member, const RingGradients& gradients) noexcept {
  if (call.dtype == DType::kBFloat16) {
    RingGradientPass<Isa, std::uint16_t>(call, member, gradients).run();
  } else {
    RingGradientPass<Isa, float>(call, member, gradients).run();
  }
}

}  // namespace weft::kernels
