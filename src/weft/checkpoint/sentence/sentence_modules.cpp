// SPDX-License-Identifier: Apache-2.0
// The names of modules and modes in both directions.
#include "weft/checkpoint/sentence/sentence_modules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

constexpr std::array<std::pair<PoolingMode, std::string_view>, kPoolingModes> kModes{{
    {PoolingMode::kCls, "cls"},
    {PoolingMode::kMax, "max"},
    {PoolingMode::kMean, "mean"},
    {PoolingMode::kMeanSqrtLength, "mean_sqrt_len_tokens"},
    {PoolingMode::kWeightedMean, "weightedmean"},
    {PoolingMode::kLastToken, "lasttoken"},
}};

std::string module_text(const SentenceModule& module) {
  if (const auto* pooling = std::get_if<PoolingModule>(&module)) {
    return concat(pooling_text(pooling->modes), " pooling", pooling->include_prompt ? "" : " without the prompt");
  }
  if (const auto* dense = std::get_if<DenseModule>(&module)) {
    return concat("Dense ", dense->weight.size(1), " -> ", dense->weight.size(0), " (", dense->activation->name,
                  dense->use_residual ? ", residual)" : ")");
  }
  return std::string(kind_name(module));
}

}  // namespace

std::string_view pooling_mode_name(PoolingMode mode) noexcept {
  return std::ranges::find(kModes, mode, &std::pair<PoolingMode, std::string_view>::first)->second;
}

PoolingMode parse_pooling_mode(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [mode, its_name] : kModes) {
    if (its_name == name) {
      return mode;
    }
    names.push_back(its_name);
  }
  throw Error(ErrorKind::kArgument,
              concat("a pooling mode must be cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken, found ",
                     quote(name)),
              did_you_mean(name, names));
}

std::string pooling_text(const std::vector<PoolingMode>& modes) {
  std::string text;
  for (const PoolingMode mode : modes) {
    text += concat(text.empty() ? "" : ", ", pooling_mode_name(mode));
  }
  return text;
}

std::string_view kind_name(const SentenceModule& module) noexcept {
  constexpr std::array<std::string_view, std::variant_size_v<SentenceModule>> kKinds{"Pooling", "Dense", "LayerNorm",
                                                                                     "Normalize", "Dropout"};
  return kKinds[module.index()];
}

std::string modules_text(const std::vector<SentenceModule>& modules) {
  std::string text;
  for (const SentenceModule& module : modules) {
    text += concat(text.empty() ? "" : ", ", module_text(module));
  }
  return text;
}

}  // namespace weft::checkpoint
