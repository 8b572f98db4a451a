// SPDX-License-Identifier: Apache-2.0
// Losses of rows of scores in the vectors of one instruction set. A row is read twice: for the sum of its exponentials,
// and for its gradient. The exponential is computed again, which costs less than to store it.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/loss/score_loss.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {

template <class Isa, class Storage>
class ScorePass {
  using Memory = typename Storage::Memory;
  using Vector = typename Isa::Vector;

 public:
  explicit ScorePass(const ScoreLoss& call) noexcept : call_(call) {}

  void run() noexcept {
    auto* scores = static_cast<Memory*>(call_.scores);
    for (std::int64_t row = 0; row < call_.rows; ++row, scores += call_.stride) {
      const Sums sums = summed(scores);
      const std::int64_t label = call_.labels[row];
      const float chosen = logit(scores, label);
      const float smooth = call_.smoothing;
      const double mean = smooth == 0.0F ? 0.0 : sums.logits / static_cast<double>(call_.ids);
      const double target = smooth == 0.0F ? chosen : (1.0 - smooth) * chosen + smooth * mean;
      call_.losses[row] = static_cast<float>(__builtin_log(sums.exponentials) + (sums.maximum - target));
      if (call_.gathers) {
        write_gradient(scores, sums);
        write_label(scores + label, chosen, sums);
      }
    }
  }

 private:
  struct Sums {
    float maximum;
    double exponentials;  // of l - maximum
    double logits;        // only with smoothing
  };

  static constexpr std::int64_t kBlock = 1024;
  static constexpr float kLowest = -3.0e38F;

  float logit(const Memory* scores, std::int64_t id) const noexcept {
    return Storage::load(scores + id) + (call_.bias == nullptr ? 0.0F : call_.bias[id]);
  }

  // Of ids [first, first + kLanes), of which `count` exist; what lies behind them is the bound.
  [[gnu::always_inline]] Vector logits(const Memory* scores, std::int64_t first, std::int64_t count) const noexcept {
    Vector value = widen_part<Isa>(scores + first, count);
    if (call_.bias != nullptr) {
      value = Isa::add(value, widen_part<Isa>(call_.bias + first, count));
    }
    return count >= Isa::kLanes ? value : Isa::select(Isa::lanes_of(low_bits(count)), value, Isa::set(kLowest));
  }

  // The maximum of a block is known before its exponentials are summed; the sum of the blocks before is rescaled.
  Sums summed(const Memory* scores) noexcept {
    Sums sums{kLowest, 0.0, 0.0};
    for (std::int64_t first = 0; first < call_.ids; first += kBlock) {
      const std::int64_t rest = call_.ids - first;
      const std::int64_t count = rest < kBlock ? rest : kBlock;
      Vector largest = Isa::set(sums.maximum);
      for (std::int64_t at = 0; at < count; at += Isa::kLanes) {
        const Vector value = logits(scores, first + at, count - at);
        Isa::store(block_ + at, value);
        largest = Isa::maximum(value, largest);  // a NaN is left out, and found in the sum
      }
      const float maximum = across(largest, [](float a, float b) { return a > b ? a : b; });
      if (maximum > sums.maximum) {
        sums.exponentials *= exponential_of(sums.maximum - maximum);
        sums.maximum = maximum;
      }
      sums.exponentials += sum_of_exponentials(count, Isa::set(maximum));
      if (call_.smoothing != 0.0F) {
        sums.logits += sum_of_block(count);
      }
    }
    return sums;
  }

  [[gnu::always_inline]] float sum_of_exponentials(std::int64_t count, Vector maximum) const noexcept {
    Vector sum = Isa::zero();
    for (std::int64_t at = 0; at < count; at += Isa::kLanes) {
      sum = Isa::add(sum, exponential<Isa>(Isa::subtract(Isa::load(block_ + at), maximum)));
    }
    return across(sum, [](float a, float b) { return a + b; });
  }

  double sum_of_block(std::int64_t count) const noexcept {
    double sum = 0;
    for (std::int64_t at = 0; at < count; ++at) {
      sum += block_[at];
    }
    return sum;
  }

  void write_gradient(Memory* scores, const Sums& sums) const noexcept {
    const Vector maximum = Isa::set(sums.maximum);
    const Vector factor = Isa::set(static_cast<float>(call_.scale / sums.exponentials));
    const Vector spread = Isa::set(-call_.smoothing / static_cast<float>(call_.ids) * call_.scale);
    for (std::int64_t at = 0; at < call_.ids; at += Isa::kLanes) {
      const std::int64_t count = call_.ids - at;
      const Vector power = exponential<Isa>(Isa::subtract(logits(scores, at, count), maximum));
      narrow_part<Isa>(scores + at, Isa::multiply_add(power, factor, spread), count);
    }
  }

  // Rounded once, with the label's part in it.
  void write_label(Memory* score, float chosen, const Sums& sums) const noexcept {
    const double probability = exponential_of(chosen - sums.maximum) / sums.exponentials;
    const double spread = static_cast<double>(call_.smoothing) / static_cast<double>(call_.ids);
    const double target = 1.0 - static_cast<double>(call_.smoothing) + spread;
    Storage::store(score, static_cast<float>((probability - target) * static_cast<double>(call_.scale)));
  }

  [[gnu::always_inline]] static float exponential_of(float power) noexcept {
    float lanes[Isa::kLanes];
    Isa::store(lanes, exponential<Isa>(Isa::set(power)));
    return lanes[0];
  }

  template <typename Join>
  [[gnu::always_inline]] static float across(Vector value, const Join& join) noexcept {
    float lanes[Isa::kLanes];
    Isa::store(lanes, value);
    for (int half = Isa::kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        lanes[lane] = join(lanes[lane], lanes[lane + half]);
      }
    }
    return lanes[0];
  }

  const ScoreLoss& call_;
  alignas(64) float block_[kBlock];  // logits
};

template <class Isa>
void run_score_loss(const ScoreLoss& call) noexcept {
  if (call.dtype == DType::kBFloat16) {
    ScorePass<Isa, BFloat16Storage>(call).run();
  } else {
    ScorePass<Isa, PlainStorage<float>>(call).run();
  }
}

}  // namespace weft::kernels
