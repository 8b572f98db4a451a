// SPDX-License-Identifier: Apache-2.0
// What a directory of sentence-transformers does with the token vectors of its transformer: the modules by kind, each
// with its settings and weights. Facts: sentence_transformers/sentence_transformer/modules/pooling.py and
// sentence_transformers/base/modules of sentence-transformers 6.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/checkpoint/sentence/torch_activation.h"

namespace weft::checkpoint {

/// How a text's token vectors become one vector, over the tokens that are not padding, special ones included.
enum class PoolingMode {
  kCls,             ///< "cls": the first token's
  kMax,             ///< "max": the largest value of each column
  kMean,            ///< "mean"
  kMeanSqrtLength,  ///< "mean_sqrt_len_tokens": the sum divided by the square root of the number of tokens
  kWeightedMean,    ///< "weightedmean": sum (i + 1) h_i / sum (i + 1), i the place of the token in its text from 0
  kLastToken,       ///< "lasttoken": the last token's
};
inline constexpr std::size_t kPoolingModes = 6;

/// The name that `pooling_mode` has in a config of sentence-transformers 6.
std::string_view pooling_mode_name(PoolingMode mode) noexcept;
/// The mode of that name. Errors: kArgument naming the six.
PoolingMode parse_pooling_mode(std::string_view name);
/// "mean" or "cls, mean".
std::string pooling_text(const std::vector<PoolingMode>& modes);

/// One vector for each text: those of all modes beside each other, in this order.
struct PoolingModule {
  std::vector<PoolingMode> modes = {PoolingMode::kMean};
  std::int64_t width = 0;      ///< of a token's vector (embedding_dimension); 0: as wide as the transformer's
  bool include_prompt = true;  ///< false: the tokens of the prompt, and those before them, do not count
};

/// activation(x W^T + b), plus x (or x R^T where the widths differ) where there is a residual.
struct DenseModule {
  at::Tensor weight;                                                  ///< float32 [out, in]
  at::Tensor bias;                                                    ///< float32 [out], or undefined
  const TorchActivation* activation = find_torch_activation("Tanh");  ///< one that has `of_vectors`
  bool use_residual = false;
  at::Tensor residual;  ///< float32 [out, in]; undefined where use_residual is false or out is in
};

/// Over the vector, epsilon 1e-5.
struct LayerNormModule {
  at::Tensor weight;  ///< float32 [width]
  at::Tensor bias;    ///< float32 [width]
};

/// x / max(|x|, 1e-12).
struct NormalizeModule {};

/// Changes nothing but in training.
struct DropoutModule {
  double rate = 0.0;
};

using SentenceModule = std::variant<PoolingModule, DenseModule, LayerNormModule, NormalizeModule, DropoutModule>;

/// "Pooling", "Dense", "LayerNorm", "Normalize", "Dropout".
std::string_view kind_name(const SentenceModule& module) noexcept;

/// The modules as a person reads them: "mean pooling, Dense 384 -> 128 (Tanh), Normalize".
std::string modules_text(const std::vector<SentenceModule>& modules);

}  // namespace weft::checkpoint
