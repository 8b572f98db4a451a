// SPDX-License-Identifier: Apache-2.0
// numpy/random/bit_generator.pyx (SeedSequence), src/pcg64/pcg64.h and src/distributions/distributions.c, for one use
// of them: integers below a bound of 32 bits.
#include "weft/metrics/translation/bootstrap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"

namespace weft::metrics {
namespace {

constexpr std::size_t kPool = 4;
constexpr int kShift = 16;

// Hashes words one after another; each has another constant.
class WordHash {
 public:
  WordHash(std::uint32_t start, std::uint32_t factor) noexcept : constant_(start), factor_(factor) {}
  std::uint32_t operator()(std::uint32_t value) noexcept {
    value ^= constant_;
    constant_ *= factor_;
    value *= constant_;
    return value ^ (value >> kShift);
  }

 private:
  std::uint32_t constant_;
  std::uint32_t factor_;
};

std::uint32_t mixed(std::uint32_t left, std::uint32_t right) noexcept {
  const std::uint32_t value = 0xCA01F9DDU * left - 0x4973F715U * right;
  return value ^ (value >> kShift);
}

// SeedSequence(seed).generate_state(4, uint64).
std::array<std::uint64_t, kPool> seed_words(std::uint32_t seed) noexcept {
  std::array<std::uint32_t, kPool> pool{};
  WordHash hash(0x43B0D7E5U, 0x931E8875U);
  for (std::size_t i = 0; i < kPool; ++i) {
    pool[i] = hash(i == 0 ? seed : 0);
  }
  for (std::size_t source = 0; source < kPool; ++source) {
    for (std::size_t target = 0; target < kPool; ++target) {
      if (source != target) {
        pool[target] = mixed(pool[target], hash(pool[source]));
      }
    }
  }
  WordHash output(0x8B51F9DDU, 0x58F38DEDU);
  std::array<std::uint64_t, kPool> words{};
  for (std::size_t i = 0; i < 2 * kPool; ++i) {
    words[i / 2] |= std::uint64_t{output(pool[i % kPool])} << (i % 2 == 0 ? 0 : 32);
  }
  return words;
}

}  // namespace

NumpyRandom::NumpyRandom(std::uint32_t seed) noexcept {
  const std::array<std::uint64_t, kPool> words = seed_words(seed);
  increment_ = (((Wide{words[2]} << 64) | words[3]) << 1) | 1U;
  next64();
  state_ += (Wide{words[0]} << 64) | words[1];
  next64();
}

std::uint64_t NumpyRandom::next64() noexcept {
  constexpr Wide kMultiplier = (Wide{0x2360ED051FC65DA4ULL} << 64) | 0x4385DF649FCCF645ULL;
  state_ = state_ * kMultiplier + increment_;
  const auto folded = static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
  return std::rotr(folded, static_cast<int>(state_ >> 122));
}

std::uint32_t NumpyRandom::next32() noexcept {
  if (has_half_) {
    has_half_ = false;
    return half_;
  }
  const std::uint64_t both = next64();
  half_ = static_cast<std::uint32_t>(both >> 32);
  has_half_ = true;
  return static_cast<std::uint32_t>(both);
}

std::uint32_t NumpyRandom::below(std::uint32_t bound) noexcept {
  if (bound == 1) {
    return 0;
  }
  std::uint64_t product = std::uint64_t{next32()} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t threshold = (0U - bound) % bound;
    while (static_cast<std::uint32_t>(product) < threshold) {
      product = std::uint64_t{next32()} * bound;
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

void SentenceStatistics::add(std::span<const std::int64_t> row) {
  require(sentences_ == 0 || values_.size() == static_cast<std::size_t>(sentences_) * row.size(),
          "a sentence's statistics must have as many numbers as the first's, found ", row.size());
  values_.insert(values_.end(), row.begin(), row.end());
  ++sentences_;
}

std::vector<std::int64_t> SentenceStatistics::sum() const {
  require(sentences_ > 0, "a corpus needs at least one sentence, found none");
  const std::size_t columns = values_.size() / static_cast<std::size_t>(sentences_);
  std::vector<std::int64_t> sums(columns);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    sums[i % columns] += values_[i];
  }
  return sums;
}

void SentenceStatistics::resample(std::int64_t samples,
                                  const std::function<void(std::span<const float> sums)>& visit) const {
  require(sentences_ > 0 && sentences_ < (std::int64_t{1} << 32) - 1,
          "resampling needs 1 to 2^32 - 2 sentences, found ", sentences_);
  const std::size_t columns = values_.size() / static_cast<std::size_t>(sentences_);
  const std::vector<float> rows(values_.begin(), values_.end());
  NumpyRandom random(kBootstrapSeed);
  std::vector<float> sums(columns);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::int64_t draw = 0; draw < sentences_; ++draw) {
      const float* row = rows.data() + columns * random.below(static_cast<std::uint32_t>(sentences_));
      for (std::size_t column = 0; column < columns; ++column) {
        sums[column] += row[column];
      }
    }
    visit(sums);
  }
}

BootstrapInterval interval_of(std::vector<double> figures) {
  require(!figures.empty(), "an interval needs at least one resample, found none");
  std::sort(figures.begin(), figures.end());
  const std::size_t cut = figures.size() / 40;
  // Python's statistics.mean rounds the exact mean once; so does this up to 2^64 times the last place.
  const long double sum = std::accumulate(figures.begin(), figures.end(), 0.0L);
  return {static_cast<double>(sum / static_cast<long double>(figures.size())),
          0.5 * (figures[figures.size() - cut - 1] - figures[cut])};
}

double paired_p_value(std::span<const double> first, std::span<const double> second, double difference) {
  require(!first.empty() && first.size() == second.size(), "two systems are compared on the same resamples, found ",
          first.size(), " and ", second.size());
  std::vector<double> differences;
  double sum = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    differences.push_back(std::abs(first[i] - second[i]));
    sum += differences.back();
  }
  const double mean = sum / static_cast<double>(differences.size());
  const auto above =
      std::count_if(differences.begin(), differences.end(), [&](double one) { return one - mean > difference; });
  return static_cast<double>(above + 1) / static_cast<double>(differences.size() + 1);
}

void ReferenceCount::add(std::size_t references) noexcept {
  varies_ = varies_ || (count_ != 0 && count_ != references);
  count_ = references;
}

std::string ReferenceCount::text() const { return varies_ ? "var" : std::to_string(count_); }

std::string signature_head(const ReferenceCount& references, std::int64_t samples) {
  const std::string head = "nrefs:" + references.text();
  return samples > 1 ? concat(head, "|bs:", samples, "|seed:", kBootstrapSeed) : head;
}

}  // namespace weft::metrics
