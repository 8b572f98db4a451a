// SPDX-License-Identifier: Apache-2.0
// Stacks whose settings published encoders have and no family here: norms without mean or bias, or none, rotary
// positions of two bases, gated feed-forwards, layers without biases. Each against its equations in float64, results
// and all gradients.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/layers/activation.h"
#include "weft/models/stack/stack.h"

namespace weft::models {
namespace {

constexpr std::int64_t kSettingsWidth = 8;
constexpr std::int64_t kSettingsHeads = 2;

struct LayerSettings {
  double theta = 0.0;
  std::int64_t reach = 1 << 20;  ///< a token sees so many to each side
};

struct StackSettings {
  std::string name;
  layers::NormConfig norm;
  bool norm_first = true;
  bool first_attention_has_norm = true;
  layers::Activation activation = layers::Activation::kSwiglu;
  std::string activation_name = "swiglu";
  std::optional<attention::DistanceBuckets> buckets = {};
  std::vector<LayerSettings> layers;
};

const layers::NormConfig kNoBias{.bias = false};
const layers::NormConfig kRootMeanSquare{.kind = layers::NormKind::kRms, .epsilon = 1e-6};

/// As ModernBERT, NomicBERT, a Llama that looks both ways, and the encoder of T5 1.1.
std::vector<StackSettings> every_style() {
  return {{"modern", kNoBias, true, false, layers::Activation::kGeglu, "geglu", {}, {{160000.0}, {10000.0, 2}}},
          {"nomic", {}, false, true, layers::Activation::kSwiglu, "swiglu", {}, {{1000.0}, {1000.0}}},
          {"llama", kRootMeanSquare, true, true, layers::Activation::kSwiglu, "swiglu", {}, {{500000.0}, {500000.0}}},
          {"t5", kRootMeanSquare, true, true, layers::Activation::kGegluNew, "geglu_new", {{8, 16}}, {{}, {}}}};
}

StackConfig config_of_style(const StackSettings& style) {
  StackConfig config;
  config.embeddings.vocab_size = 11;
  config.embeddings.hidden_size = kSettingsWidth;
  config.embeddings.norm = style.norm;
  for (const LayerSettings& settings : style.layers) {
    layers::BlockConfig block;
    block.layer = std::ssize(config.blocks);
    block.hidden_size = kSettingsWidth;
    block.heads = block.key_value_heads = kSettingsHeads;
    block.intermediate_size = 12;
    block.attention = settings.reach < 100 ? concat("window(", 2 * settings.reach, ")") : "full";
    block.qkv_bias = block.output_bias = block.feed_forward_bias = false;
    block.activation = style.activation_name;
    block.norm_first = style.norm_first;
    block.norm = style.norm;
    if (config.blocks.empty() && !style.first_attention_has_norm) {
      block.attention_norm = layers::NormConfig{.kind = layers::NormKind::kNone};
    }
    block.rope_theta = settings.theta;
    block.distance_buckets = style.buckets;
    config.blocks.push_back(block);
  }
  if (style.norm_first) {
    config.last_norm = style.norm;
  }
  return config;
}

class SettingsEquations {
 public:
  SettingsEquations(const StackSettings& style, const torch::nn::Module& stack)
      : style_(style), parameters_(stack.named_parameters()) {}

  at::Tensor hidden(const at::Tensor& ids) const {
    at::Tensor x = norm("embeddings.norm", at::embedding(parameters_["embeddings.tokens"], ids));
    for (std::size_t layer = 0; layer < style_.layers.size(); ++layer) {
      const std::string name = concat("layers.", layer, ".");
      const at::Tensor seen = style_.norm_first ? norm(name + "attention_norm", x) : x;
      x = after(name + "attention_norm", x, attended(name + "attention.", seen, style_.layers[layer]));
      const at::Tensor fed = style_.norm_first ? norm(name + "feed_forward_norm", x) : x;
      x = after(name + "feed_forward_norm", x, forwarded(name + "feed_forward.", fed));
    }
    return style_.norm_first ? norm("norm", x) : x;
  }

 private:
  at::Tensor norm(const std::string& name, const at::Tensor& x) const {
    const at::Tensor* const weight = parameters_.find(name + ".weight");
    if (weight == nullptr) {
      return x;
    }
    const at::Tensor* const bias = parameters_.find(name + ".bias");
    const bool root = style_.norm.kind == layers::NormKind::kRms;
    const at::Tensor centred = root ? x : x - x.mean(-1, true);
    const at::Tensor scaled = centred / (centred * centred).mean(-1, true).add(style_.norm.epsilon).sqrt() * *weight;
    return bias == nullptr ? scaled : scaled + *bias;
  }
  at::Tensor after(const std::string& name, const at::Tensor& x, const at::Tensor& added) const {
    return style_.norm_first ? x + added : norm(name, x + added);
  }
  at::Tensor forwarded(const std::string& name, const at::Tensor& x) const {
    const std::vector<at::Tensor> halves = x.matmul(parameters_[name + "up.weight"].t()).chunk(2, -1);
    return (layers::activate(halves[0], layers::inside_gate(style_.activation)) * halves[1])
        .matmul(parameters_[name + "down.weight"].t());
  }
  at::Tensor attended(const std::string& name, const at::Tensor& x, const LayerSettings& layer) const {
    const std::int64_t length = x.size(1);
    const std::vector<at::Tensor> parts = x.matmul(parameters_[name + "qkv.weight"].t()).chunk(3, -1);
    const auto heads = [&](const at::Tensor& part) {
      return part.view({x.size(0), length, kSettingsHeads, -1}).transpose(1, 2);
    };
    const at::Tensor query = turned(heads(parts[0]), layer.theta);
    const at::Tensor key = turned(heads(parts[1]), layer.theta);
    at::Tensor scores = query.matmul(key.transpose(2, 3)) / std::sqrt(static_cast<double>(query.size(3)));
    if (style_.buckets) {
      scores = scores + biases(length);
    }
    const at::Tensor places = at::arange(length);
    const at::Tensor far = (places.unsqueeze(0) - places.unsqueeze(1)).abs().gt(layer.reach);
    scores = scores.masked_fill(far, -std::numeric_limits<double>::infinity());
    return at::softmax(scores, -1)
        .matmul(heads(parts[2]))
        .transpose(1, 2)
        .flatten(2)
        .matmul(parameters_[name + "output.weight"].t());
  }
  /// [H, length, length] from the table of layer 0, of 8 buckets: for each side two of one distance, then up to 16.
  at::Tensor biases(std::int64_t length) const {
    const at::Tensor table = parameters_["layers.0.attention.mechanism.distance_biases"];
    at::Tensor places = at::empty({length, length}, at::kLong);
    for (std::int64_t query = 0; query < length; ++query) {
      for (std::int64_t key = 0; key < length; ++key) {
        const std::int64_t away = std::abs(query - key);
        const auto large =
            static_cast<std::int64_t>(2 + std::log(static_cast<double>(away) / 2) / std::log(16.0 / 2) * 2);
        places[query][key] = (away < 2 ? away : std::min<std::int64_t>(large, 3)) + (key > query ? 4 : 0);
      }
    }
    return at::embedding(table, places).permute({2, 0, 1});
  }
  static at::Tensor turned(const at::Tensor& x, double theta) {
    if (theta == 0.0) {
      return x;
    }
    const std::int64_t half = x.size(3) / 2;
    const at::Tensor exponents = at::arange(half, at::kDouble) * (-1.0 / static_cast<double>(half));
    const at::Tensor angles = at::outer(at::arange(x.size(2), at::kDouble), at::pow(theta, exponents));
    const at::Tensor first = x.narrow(3, 0, half);
    const at::Tensor second = x.narrow(3, half, half);
    return at::cat({first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()}, 3);
  }

  const StackSettings& style_;
  torch::OrderedDict<std::string, at::Tensor> parameters_;
};

TEST(BlockSettings, EqualTheirEquations) {
  for (const StackSettings& style : every_style()) {
    SCOPED_TRACE(style.name);
    at::manual_seed(6);
    Stack stack(config_of_style(style), at::TensorOptions(at::kDouble));
    {
      const at::NoGradGuard without_gradients;
      for (at::Tensor& parameter : stack->parameters()) {
        parameter.copy_(at::randn(parameter.sizes(), at::kDouble) * 0.5);
      }
    }
    EXPECT_EQ(stack->named_parameters().contains("layers.0.attention_norm.weight"), style.first_attention_has_norm);
    EXPECT_FALSE(stack->named_parameters().contains("layers.0.feed_forward.up.bias"));
    EXPECT_FALSE(stack->named_parameters().contains("layers.1.attention.mechanism.distance_biases"));
    const at::Tensor ids = at::randint(11, {2, 9}, at::kLong);
    const at::Tensor direction = at::randn({2, 9, kSettingsWidth}, at::kDouble);
    std::vector<std::vector<at::Tensor>> gradients;
    std::vector<at::Tensor> results;
    for (const int way : {0, 1, 2}) {  // the stack, the same with recomputation, the equations
      stack->zero_grad();
      layers::BlockContext context;
      results.push_back(way < 2 ? stack->forward({.ids = ids}, context, way == 1).hidden
                                : SettingsEquations(style, *stack).hidden(ids));
      (results.back() * direction).sum().backward();
      std::vector<at::Tensor>& found = gradients.emplace_back();
      for (const at::Tensor& parameter : stack->parameters()) {
        found.push_back(parameter.grad().clone());
      }
    }
    EXPECT_LT((results[0] - results[2]).abs().max().item<double>(), 1e-11);
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
      EXPECT_LT((gradients[0][i] - gradients[2][i]).abs().max().item<double>(), 1e-10) << i;
      EXPECT_LT((gradients[0][i] - gradients[1][i]).abs().max().item<double>(), 1e-12) << i;
    }
  }
}

}  // namespace
}  // namespace weft::models
