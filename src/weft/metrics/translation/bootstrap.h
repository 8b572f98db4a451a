// SPDX-License-Identifier: Apache-2.0
// Confidence intervals by resampling sentences (Koehn 2004), with sacrebleu's draws: the generator of NumPy's
// default_rng(12345), the same sentences in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

/// sacrebleu's seed, and the version whose figures these are.
inline constexpr std::uint32_t kBootstrapSeed = 12345;
inline constexpr std::string_view kSacrebleuVersion = "2.6.0";

/// numpy.random.default_rng(seed): PCG64 (O'Neill 2014, XSL-RR 128/64) behind NumPy's SeedSequence.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) noexcept;

  /// integers(0, bound), 1 <= bound <= 2^32 - 1: Lemire's method on halves of 64-bit draws. bound 1 draws nothing.
  std::uint32_t below(std::uint32_t bound) noexcept;

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t next64() noexcept;
  std::uint32_t next32() noexcept;

  Wide state_ = 0;
  Wide increment_ = 0;
  std::uint32_t half_ = 0;
  bool has_half_ = false;
};

/// What a corpus figure is computed from: a row of whole numbers for each sentence.
class SentenceStatistics {
 public:
  void add(std::span<const std::int64_t> row);
  std::int64_t sentences() const noexcept { return sentences_; }
  /// The sum over all sentences. Errors: kArgument without a sentence.
  std::vector<std::int64_t> sum() const;
  /// Sums over `samples` resamples, each of as many sentences as there are, given to `visit` one by one. Sums run in
  /// float32 in the order of the draws, as sacrebleu's do.
  void resample(std::int64_t samples, const std::function<void(std::span<const float> sums)>& visit) const;

 private:
  std::vector<std::int64_t> values_;
  std::int64_t sentences_ = 0;
};

/// Mean and half of the width of the interval from the 2.5th to the 97.5th percentile of resamples.
struct BootstrapInterval {
  double mean = 0;
  double half_width = 0;
};

/// Over the figures of all resamples, at least one.
BootstrapInterval interval_of(std::vector<double> figures);

/// How likely two systems differ by `difference` (absolute, on all sentences) or more by chance: with the absolute
/// differences of their figures on the same resamples, the share of those that are above `difference` once their mean
/// is taken away, as sacrebleu's paired bootstrap counts it: (c + 1) / (n + 1). Errors: kArgument for lists of
/// different lengths, and for none.
double paired_p_value(std::span<const double> first, std::span<const double> second, double difference);

/// How many references the sentences had, for a signature.
class ReferenceCount {
 public:
  void add(std::size_t references) noexcept;
  /// "1", "2", "var" where it differs.
  std::string text() const;

 private:
  std::size_t count_ = 0;
  bool varies_ = false;
};

/// "nrefs:1", and "|bs:1000|seed:12345" for more than one sample.
std::string signature_head(const ReferenceCount& references, std::int64_t samples);

}  // namespace weft::metrics
