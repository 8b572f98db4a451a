// SPDX-License-Identifier: Apache-2.0
// LittleBird's block against its equations, pair by pair in float64: any length, padding, both orders of the norms;
// gradients, rows of a batch, half types, memory.
#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "support/torch_memory.h"
#include "weft/core/error.h"
#include "weft/layers/blocks/block.h"

namespace weft::layers {
namespace {

struct Shape {
  std::int64_t block = 4;
  std::int64_t latents = 3;
  std::int64_t heads = 2;
  std::int64_t width = 8;  ///< of all heads
  bool norm_first = false;
};

std::string expression_of(const Shape& shape) {
  return concat("little_bird(block=", shape.block, ", latents=", shape.latents, ")");
}

Block block_of(const Shape& shape, at::ScalarType type = at::kDouble) {
  BlockConfig config;
  config.hidden_size = shape.width;
  config.heads = config.key_value_heads = shape.heads;
  config.intermediate_size = 12;
  config.attention = expression_of(shape);
  config.norm_first = shape.norm_first;
  Block block = make_block(config, at::TensorOptions(type));
  const at::NoGradGuard without_gradients;
  for (auto& parameter : block->named_parameters()) {
    const bool scale = parameter.key().ends_with("norm.weight");
    parameter.value().copy_(at::randn(parameter.value().sizes(), at::kDouble) * 0.4 + (scale ? 1.0 : 0.0));
  }
  block->eval();
  return block;
}

/// Texts of a batch: which tokens are there.
struct Texts {
  at::Tensor keep;  ///< bool [B, N]
  bool by_length = false;
};

BlockContext context_of(const Texts& texts) {
  BlockContext context;
  if (!texts.by_length) {
    context.attention.key_keep = texts.keep;
    return context;
  }
  for (std::int64_t row = 0; row < texts.keep.size(0); ++row) {
    const std::int64_t length = texts.keep[row].sum().item<std::int64_t>();
    context.attention.rows.push_back({{}, length, length});
  }
  return context;
}

// ---- The equations (Lee, Han and Shin 2022, section 3), for one text.

using Row = std::vector<double>;
using RowList = std::vector<Row>;

RowList rows_of(const at::Tensor& tensor) {
  const at::Tensor wide = tensor.detach().to(at::kDouble).contiguous();
  RowList rows;
  for (std::int64_t i = 0; i < wide.size(0); ++i) {
    const double* first = wide.const_data_ptr<double>() + i * wide.size(1);
    rows.emplace_back(first, first + wide.size(1));
  }
  return rows;
}

/// sum of weights exp(score) value over the pairs, for one head: columns [first, first + width) of query, keys, values.
struct HeadColumns {
  std::size_t first;
  std::size_t width;
};

struct Pair {
  double penalty;
  const Row* key;
  const Row* value;
};

void add_softmax(Row& output, const Row& query, const std::vector<Pair>& pairs, HeadColumns columns) {
  double sum = 0;
  Row mixed(columns.width, 0.0);
  for (const Pair& pair : pairs) {
    double score = 0;
    for (std::size_t column = columns.first; column < columns.first + columns.width; ++column) {
      score += query[column] * (*pair.key)[column];
    }
    const double weight = std::exp(score / std::sqrt(static_cast<double>(columns.width)) - pair.penalty);
    sum += weight;
    for (std::size_t column = 0; column < columns.width; ++column) {
      mixed[column] += weight * (*pair.value)[columns.first + column];
    }
  }
  for (std::size_t column = 0; column < columns.width; ++column) {
    output[columns.first + column] = pairs.empty() ? 0.0 : mixed[column] / sum;
  }
}

at::Tensor tensor_of(const RowList& rows) {
  at::Tensor tensor =
      at::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())}, at::kDouble);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy(rows[i].begin(), rows[i].end(), tensor.mutable_data_ptr<double>() + i * rows[i].size());
  }
  return tensor;
}

class Equations {
 public:
  Equations(const Shape& shape, Block block) : shape_(shape), block_(std::move(block)) {}

  /// [latents + N, width] -> the same.
  at::Tensor of_text(const at::Tensor& x, const at::Tensor& keep) const {
    const at::Tensor latents = x.narrow(0, 0, shape_.latents);
    const at::Tensor text = x.narrow(0, shape_.latents, x.size(0) - shape_.latents);
    const at::Tensor seen = shape_.norm_first ? norm("attention_norm", text) : text;
    const at::Tensor packed = packed_of(shape_.norm_first ? norm("pack_norm", latents) : latents, seen, keep);
    const at::Tensor mixed = after("attention_norm", text, unpacked_of(packed, seen, keep));
    const at::Tensor fed = shape_.norm_first ? norm("feed_forward_norm", mixed) : mixed;
    const at::Tensor result =
        after("feed_forward_norm", mixed, linear("feed_forward.down", at::gelu(linear("feed_forward.up", fed))));
    return at::cat({after("pack_norm", latents, packed), result});
  }

 private:
  at::Tensor parameter(const std::string& name) const {
    return block_->named_parameters()[name].detach().to(at::kDouble);
  }
  at::Tensor linear(const std::string& name, const at::Tensor& x) const {
    return at::linear(x, parameter(name + ".weight"), parameter(name + ".bias"));
  }
  at::Tensor norm(const std::string& name, const at::Tensor& x) const {
    return at::layer_norm(x, {x.size(1)}, parameter(name + ".weight"), parameter(name + ".bias"), 1e-5);
  }
  at::Tensor after(const std::string& name, const at::Tensor& x, const at::Tensor& added) const {
    return shape_.norm_first ? x + added : norm(name, x + added);
  }
  HeadColumns columns(std::int64_t head) const {
    const auto width = static_cast<std::size_t>(shape_.width / shape_.heads);
    return {static_cast<std::size_t>(head) * width, width};
  }

  /// Attn(P, X).
  at::Tensor packed_of(const at::Tensor& latents, const at::Tensor& text, const at::Tensor& keep) const {
    const RowList queries = rows_of(linear("pack.query", latents));
    const std::vector<at::Tensor> both = linear("pack.key_value", text).chunk(2, 1);
    const RowList keys = rows_of(both[0]);
    const RowList values = rows_of(both[1]);
    const Row is_kept = rows_of(keep.unsqueeze(0)).front();
    RowList output(queries.size(), Row(queries[0].size()));
    for (std::int64_t head = 0; head < shape_.heads; ++head) {
      for (std::size_t i = 0; i < queries.size(); ++i) {
        std::vector<Pair> pairs;
        for (std::size_t j = 0; j < keys.size(); ++j) {
          if (is_kept[j] > 0) {
            pairs.push_back({0.0, &keys[j], &values[j]});
          }
        }
        add_softmax(output[i], queries[i], pairs, columns(head));
      }
    }
    return linear("pack.output", tensor_of(output));
  }

  struct Slopes {
    double alpha;
    double beta;
    double gamma;
  };
  Slopes slopes(std::int64_t head) const {
    const auto slope = [&](const char* name) {
      return parameter(concat("attention.mechanism.", name))[head].item<double>();
    };
    return {slope("alpha"), slope("beta"), slope("gamma")};
  }

  /// D of the paper.
  static double distance(std::size_t i, std::size_t j, const Slopes& of_head) {
    if (i == j) {
      return 0.0;
    }
    if (i == 0 || j == 0) {
      return of_head.alpha;
    }
    return i > j ? of_head.beta * static_cast<double>(i - j) : of_head.gamma * static_cast<double>(j - i);
  }

  /// USWAttn(X, C).
  at::Tensor unpacked_of(const at::Tensor& packed, const at::Tensor& text, const at::Tensor& keep) const {
    const RowList queries = rows_of(linear("attention.qkv", text).chunk(3, 1)[0]);
    const std::vector<at::Tensor> of_text = linear("attention.qkv", text).chunk(3, 1);
    const std::vector<at::Tensor> of_packed = linear("attention.qkv", packed).chunk(3, 1);
    const RowList keys = rows_of(of_text[1]);
    const RowList values = rows_of(of_text[2]);
    const Row is_kept = rows_of(keep.unsqueeze(0)).front();
    const RowList latent_keys = rows_of(of_packed[1]);
    const RowList latent_values = rows_of(of_packed[2]);
    const auto size = static_cast<std::size_t>(shape_.block);
    RowList output(queries.size(), Row(queries[0].size()));
    for (std::int64_t head = 0; head < shape_.heads; ++head) {
      const Slopes of_head = slopes(head);
      const double of_latents = static_cast<double>(shape_.block) * (of_head.beta + of_head.gamma) / 2;
      for (std::size_t i = 0; i < queries.size(); ++i) {
        std::vector<Pair> pairs;
        pairs.reserve(latent_keys.size() + keys.size());
        for (std::size_t j = 0; j < latent_keys.size(); ++j) {
          pairs.push_back({of_latents, &latent_keys[j], &latent_values[j]});
        }
        for (std::size_t j = 0; j < keys.size(); ++j) {
          const bool near = j / size <= i / size + 1 && i / size <= j / size + 1;
          if ((near || j < size) && is_kept[j] > 0) {
            pairs.push_back({distance(i, j, of_head), &keys[j], &values[j]});
          }
        }
        add_softmax(output[i], queries[i], pairs, columns(head));
      }
    }
    return linear("attention.output", tensor_of(output));
  }

  Shape shape_;
  Block block_;
};

/// Latents and text [B, latents + N, width] -> the same.
at::Tensor forward(const Block& block, const Shape& shape, const at::Tensor& x, const BlockContext& context) {
  return block->forward(layers::Rows::joined(x, shape.latents), context).both();
}

/// The largest difference at latents and at kept tokens.
double gap_to_equations(const Shape& shape, const Block& block, const at::Tensor& x, const Texts& texts) {
  const at::NoGradGuard without_gradients;
  const at::Tensor found = forward(block, shape, x, context_of(texts)).to(at::kDouble);
  const Equations equations(shape, block);
  double gap = 0;
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    const at::Tensor expected = equations.of_text(x[row].to(at::kDouble), texts.keep[row]);
    const at::Tensor counts =
        at::cat({at::ones({shape.latents}, at::kBool), texts.keep[row]}).to(at::kDouble).unsqueeze(1);
    gap = std::max(gap, ((found[row] - expected) * counts).abs().max().item<double>());
  }
  return gap;
}

at::Tensor lengths_mask(const std::vector<std::int64_t>& lengths, std::int64_t longest) {
  at::Tensor keep = at::zeros({static_cast<std::int64_t>(lengths.size()), longest}, at::kBool);
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    keep[static_cast<std::int64_t>(row)].narrow(0, 0, lengths[row]).fill_(true);
  }
  return keep;
}

TEST(LittleBird, EqualsTheEquationsAtAnyLength) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 generator(seed);
  at::manual_seed(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(generator() % choices.size()));
  };
  for (const std::int64_t length : {1, 2, 3, 7, 12, 13, 31, 64, 65}) {
    const Shape shape{pick({1, 3, 4, 16}), pick({1, 3, 5}), pick({1, 2}), 8, pick({0, 1}) == 1};
    SCOPED_TRACE(concat(expression_of(shape), ", ", length, " tokens, norm first ", shape.norm_first));
    const at::Tensor x = at::randn({2, shape.latents + length, shape.width}, at::kDouble);
    Texts texts{at::rand({2, length}) < 0.8, false};
    if (pick({0, 1}) == 1) {
      texts = {lengths_mask({length, pick({1, (length + 1) / 2})}, length), true};
    }
    EXPECT_LT(gap_to_equations(shape, block_of(shape), x, texts), 1e-9);
    // The fused kernel; sums of float32 through three layers of values near 1.
    EXPECT_LT(gap_to_equations(shape, block_of(shape, at::kFloat), x.to(at::kFloat), texts), 1e-4);
  }
}

// As published, several tiles of the kernel; slopes of a size at which far tokens still count.
TEST(LittleBird, EqualsTheEquationsInWholeTiles) {
  at::manual_seed(3);
  const Shape shape{64, 64, 1, 8, false};
  const Block block = block_of(shape, at::kFloat);
  const at::NoGradGuard without_gradients;
  auto parameters = block->named_parameters();
  for (const char* slope : {"alpha", "beta", "gamma"}) {
    parameters[concat("attention.mechanism.", slope)].mul_(0.05);
  }
  const at::Tensor x = at::randn({1, 64 + 300, 8});
  EXPECT_LT(gap_to_equations(shape, block, x, {at::ones({1, 300}, at::kBool), false}), 1e-4);
}

TEST(LittleBird, GradientsOfTextLatentsAndParameters) {
  at::manual_seed(5);
  for (const bool norm_first : {false, true}) {
    const Shape shape{2, 2, 2, 4, norm_first};
    const Block block = block_of(shape);
    BlockContext context;
    context.attention.key_keep = at::ones({1, 9}, at::kBool);
    context.attention.key_keep[0][5] = false;
    const at::Tensor x = at::randn({1, 2 + 9, 4}, at::kDouble);
    testing::expect_gradients(
        [&](const std::vector<at::Tensor>& inputs) { return forward(block, shape, inputs[0], context); }, {x});
    const at::Tensor direction = at::randn(x.sizes(), at::kDouble);
    const auto value = [&] { return (forward(block, shape, x, context) * direction).sum(); };
    value().backward();
    for (auto& parameter : block->named_parameters()) {
      const at::Tensor gradient = parameter.value().grad();
      ASSERT_TRUE(gradient.defined()) << parameter.key();
      const at::NoGradGuard without_gradients;
      double* const entries = parameter.value().mutable_data_ptr<double>();
      const at::Tensor found = gradient.contiguous();
      for (std::int64_t at = 0; at < std::min<std::int64_t>(found.numel(), 3); ++at) {
        constexpr double kStep = 1e-5;
        const double kept = entries[at];
        entries[at] = kept + kStep;
        const double above = value().item<double>();
        entries[at] = kept - kStep;
        const double below = value().item<double>();
        entries[at] = kept;
        const double expected = (above - below) / (2 * kStep);
        EXPECT_NEAR(found.const_data_ptr<double>()[at], expected, 1e-6 * (1 + std::abs(expected))) << parameter.key();
      }
    }
  }
}

// Every parameter of the layer, slopes among them, through the fused kernel.
TEST(LittleBird, GradientsOfFloat32AreThoseOfFloat64) {
  at::manual_seed(6);
  const Shape shape{4, 3, 2, 16, false};
  const Block exact = block_of(shape);
  const Block block = block_of(shape, at::kFloat);
  {
    const at::NoGradGuard without_gradients;
    for (auto& parameter : block->named_parameters()) {
      exact->named_parameters()[parameter.key()].copy_(parameter.value());
    }
  }
  const at::Tensor x = at::randn({2, 3 + 150, 16});
  const at::Tensor direction = at::randn(x.sizes());
  (forward(block, shape, x, {}) * direction).sum().backward();
  (forward(exact, shape, x.to(at::kDouble), {}) * direction).sum().backward();
  for (const auto& parameter : block->named_parameters()) {
    const at::Tensor expected = exact->named_parameters()[parameter.key()].grad();
    const double largest = expected.abs().max().item<double>();
    EXPECT_LT((parameter.value().grad() - expected).abs().max().item<double>(), 1e-4 * (1 + largest))
        << parameter.key();
  }
}

TEST(LittleBird, NeitherPaddingNorOtherTextsChangeAText) {
  at::manual_seed(7);
  const Shape shape{4, 3, 2, 16, false};
  const Block block = block_of(shape, at::kFloat);
  const at::NoGradGuard without_gradients;
  at::Tensor x = at::randn({2, 3 + 40, 16});
  const Texts texts{lengths_mask({40, 23}, 40), true};
  x[1].narrow(0, 3 + 23, 17).fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor both = forward(block, shape, x, context_of(texts));
  EXPECT_LT((both[0] - forward(block, shape, x.narrow(0, 0, 1), {})[0]).abs().max().item<double>(), 1e-5);
  const at::Tensor alone = forward(block, shape, x.narrow(0, 1, 1).narrow(1, 0, 3 + 23), {});
  EXPECT_LT((both[1].narrow(0, 0, 3 + 23) - alone[0]).abs().max().item<double>(), 1e-5);
}

TEST(LittleBird, ATextOfPaddingAloneHasNoNaN) {
  const Shape shape{4, 3, 2, 16, false};
  const Block block = block_of(shape, at::kFloat);
  for (const bool by_length : {false, true}) {
    const at::Tensor found =
        forward(block, shape, at::randn({2, 3 + 20, 16}), context_of({lengths_mask({20, 0}, 20), by_length}));
    EXPECT_TRUE(found.isfinite().all().item<bool>());
  }
}

std::shared_ptr<attention::AttentionImpl> mechanism_of(const std::string& expression, at::ScalarType type) {
  attention::MechanismSite site;
  site.heads = 2;
  site.head_dim = 16;
  return attention::make_attention(expression, site, at::TensorOptions(type));
}

// Weights of about 4,000 keys, each far below the last bit of bfloat16: their sum is 1 only where it is kept in
// float32.
TEST(LittleBird, SumsOfBfloat16AreKeptInFloat32) {
  at::manual_seed(8);
  const auto module = mechanism_of("little_bird(block=1024, latents=32)", at::kBFloat16);
  const at::NoGradGuard without_gradients;
  for (auto& slope : module->named_parameters()) {
    slope.value().zero_();
  }
  const at::Tensor query = at::randn({1, 2, 4096, 16}).to(at::kBFloat16);
  const at::Tensor key = at::randn({1, 2, 32 + 4096, 16}).to(at::kBFloat16);
  const at::Tensor ones = at::ones(key.sizes(), key.options());
  const at::Tensor output = module->forward(query, key, ones, {});
  EXPECT_EQ(output.scalar_type(), at::kBFloat16);
  EXPECT_LT((output.to(at::kFloat) - 1).abs().max().item<double>(), 0.004);
}

TEST(LittleBird, MemoryFollowsTheLength) {
  const auto module = mechanism_of("little_bird(block=16, latents=16)", at::kFloat);
  const auto peak = [&](std::int64_t length) {
    const auto draw = [](std::int64_t rows) { return at::randn({1, 2, rows, 16}).requires_grad_(); };
    const at::Tensor query = draw(length);
    const at::Tensor key = draw(16 + length);
    const at::Tensor value = draw(16 + length);
    return testing::peak_tensor_bytes([&] { module->forward(query, key, value, {}).sum().backward(); });
  };
  peak(1024);  // what is made once
  EXPECT_LT(static_cast<double>(peak(16384)), 2.2 * static_cast<double>(peak(8192)));
}

TEST(LittleBird, SaysWhatItCannotDo) {
  const attention::MechanismSpec spec = attention::parse_mechanism("little_bird(latents=5)");
  EXPECT_EQ(spec.description, "little_bird(block=64, latents=5)");
  EXPECT_EQ(spec.latents, 5);
  EXPECT_EQ(attention::parse_mechanism(spec.description).description, spec.description);
  attention::MechanismSite site;
  site.causal = true;
  test::expect_error(ErrorKind::kArgument, {"little_bird", "decoder", "latents see the whole text"},
                     [&] { at_site(spec, site); });
  test::expect_error(ErrorKind::kExpression, {"latents", "4096", "0"},
                     [] { attention::parse_mechanism("little_bird(latents=0)"); });
  test::expect_error(ErrorKind::kExpression, {"'window'", "block"},
                     [] { attention::parse_mechanism("little_bird(window=3)"); });
  const at::Tensor rows = at::ones({1, 2, 9, 16});
  test::expect_error(ErrorKind::kArgument, {"5 latents and all tokens", "[1, 2, 9, 16]"},
                     [&] { mechanism_of("little_bird(latents=5)", at::kFloat)->forward(rows, rows, rows, {}); });
}

}  // namespace
}  // namespace weft::layers
