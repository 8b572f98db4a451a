// SPDX-License-Identifier: Apache-2.0
// Draws are longer than what they replace, but for words that the window cuts.
#include "weft/data/resampled_rows.h"

#include <algorithm>

#include "weft/core/random.h"

namespace weft::data {
namespace {

// "subw" in ASCII: keeps these draws apart from other uses of the same seed.
constexpr std::uint64_t kSubwordStream = 0x73756277;
constexpr std::uint64_t kAttempts = 8;

}  // namespace

std::optional<text::DrawnTokens> drawn_row(std::span<const std::int64_t> ids, const text::SubwordSampler& sampler,
                                           const RowDraws& draws, std::int64_t row,
                                           const std::function<bool(std::size_t tokens)>& fits) {
  const std::uint64_t key = random_bits(draws.seed ^ kSubwordStream, static_cast<std::uint64_t>(draws.step),
                                        static_cast<std::uint64_t>(draws.part));
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    text::DrawnTokens drawn = sampler.draw(ids, random_bits(key, static_cast<std::uint64_t>(row), attempt));
    if (fits(drawn.ids.size())) {
      return drawn;
    }
  }
  return std::nullopt;
}

at::Tensor resampled_rows(const at::Tensor& tokens, const text::SubwordSampler& sampler, const RowDraws& draws) {
  at::Tensor result = tokens.clone(at::MemoryFormat::Contiguous);
  const auto length = static_cast<std::size_t>(tokens.size(1));
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    std::int64_t* ids = result.mutable_data_ptr<std::int64_t>() + row * tokens.size(1);
    const auto drawn =
        drawn_row(std::span(ids, length), sampler, draws, row, [&](std::size_t count) { return count >= length; });
    if (drawn) {
      std::copy_n(drawn->ids.begin(), length, ids);
    }
  }
  return result;
}

}  // namespace weft::data
