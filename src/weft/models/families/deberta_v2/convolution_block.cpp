// SPDX-License-Identifier: Apache-2.0
// A convolution as one product of each token's neighbourhood.
#include "weft/models/families/deberta_v2/convolution_block.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tanh.h>

#include <memory>
#include <utility>
#include <vector>

#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/layers/activation.h"
#include "weft/layers/blocks/plain_block.h"
#include "weft/layers/dropout.h"
#include "weft/layers/linear.h"

namespace weft::models {
namespace {

/// [B, N, C] -> [B, N, C].
class TokenConvolution : public torch::nn::Module {
 public:
  TokenConvolution(std::int64_t width, const ConvolutionShape& shape, const at::TensorOptions& options)
      : weight(register_parameter("weight", at::empty({width, width / shape.groups, shape.kernel}, options))),
        bias(register_parameter("bias", at::empty({width}, options))),
        shape_(shape) {}

  at::Tensor forward(const at::Tensor& x) const {
    const std::int64_t side = (shape_.kernel - 1) / 2;
    const std::int64_t columns = weight.size(1);
    const at::Tensor around = at::constant_pad_nd(x, {0, 0, side, side}).unfold(1, shape_.kernel, 1);  // [B, N, C, k]
    std::vector<at::Tensor> groups;
    groups.reserve(static_cast<std::size_t>(shape_.groups));
    const std::int64_t outputs = weight.size(0) / shape_.groups;
    for (std::int64_t group = 0; group < shape_.groups; ++group) {
      groups.push_back(layers::apply_linear(around.narrow(2, group * columns, columns).flatten(2),
                                            weight.narrow(0, group * outputs, outputs).flatten(1),
                                            bias.narrow(0, group * outputs, outputs)));
    }
    return groups.size() == 1 ? groups.front() : at::cat(groups, -1);
  }

  at::Tensor weight;  ///< [C, C / groups, k]
  at::Tensor bias;    ///< [C]

 private:
  ConvolutionShape shape_;
};

class ConvolutionBlock : public layers::PlainBlockImpl {
 public:
  ConvolutionBlock(const layers::BlockConfig& config, const ConvolutionShape& shape,
                   layers::SelfAttention self_attention, const at::TensorOptions& options)
      : PlainBlockImpl(config, std::move(self_attention), options),
        convolution(
            register_module("convolution", std::make_shared<TokenConvolution>(config.hidden_size, shape, options))),
        convolution_norm(add_norm("convolution_norm", config, options)),
        activation_(shape.activation),
        dropout_(config.dropout),
        layer_(config.layer) {}

  layers::Rows forward(const layers::Rows& x, const layers::BlockContext& context) override;

  std::shared_ptr<TokenConvolution> convolution;
  layers::Norm convolution_norm;

 private:
  std::string activation_;
  double dropout_;
  std::int64_t layer_;
};

layers::Rows ConvolutionBlock::forward(const layers::Rows& x, const layers::BlockContext& context) {
  constexpr std::int64_t kConvolutionSite = 9;  // of dropout_seed, see AttentionBlockImpl
  const at::Tensor given = PlainBlockImpl::forward(x, context).text();
  at::Tensor text = x.text();
  const at::Tensor keep = attention::kept_keys(context.attention, text.unsqueeze(1));
  const at::Tensor padding = keep.defined() ? keep.logical_not().unsqueeze(2) : keep;
  text = padding.defined() ? text.masked_fill(padding, 0.0) : text;
  at::Tensor around = convolution->forward(text);
  around = padding.defined() ? around.masked_fill(padding, 0.0) : around;
  if (is_training()) {
    around = layers::seeded_dropout(around, dropout_,
                                    layers::dropout_seed(context.attention.seed, layer_, kConvolutionSite));
  }
  around = activation_ == "tanh" ? at::tanh(around) : layers::activate(around, layers::parse_activation(activation_));
  return convolution_norm(given + around);
}

}  // namespace

layers::BlockFactory convolution_block(const ConvolutionShape& shape) {
  return [shape](const layers::BlockConfig& config, const at::TensorOptions& options) {
    layers::SelfAttention attention = config.self_attention
                                          ? layers::SelfAttention(config.self_attention(config, options))
                                          : layers::SelfAttention(config, options);
    return std::make_shared<ConvolutionBlock>(config, shape, std::move(attention), options);
  };
}

}  // namespace weft::models
