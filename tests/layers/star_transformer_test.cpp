// SPDX-License-Identifier: Apache-2.0
// Star-Transformer against its equations, one token and one head at a time in float64, over lengths, padding and rows
// of a batch; gradients; memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>

#include "support/expect_error.h"
#include "support/layers/star_transformer.h"
#include "support/torch_gradcheck.h"
#include "support/torch_memory.h"

namespace weft::test {
namespace {

using testing::StarConfig;
using testing::StarNodes;
using testing::StarTransformer;

using Row = std::vector<double>;

StarTransformer star(const StarConfig& config, at::ScalarType type = at::kDouble) {
  at::manual_seed(5);
  StarTransformer model(config, at::TensorOptions(type));
  const at::NoGradGuard without_gradients;
  for (at::Tensor& parameter : model->parameters()) {
    parameter.copy_(at::randn(parameter.sizes()) * (parameter.dim() == 1 ? 0.5 : 0.6));
  }
  return model;
}

constexpr StarConfig kSmallStar{.hidden_size = 6, .heads = 2, .head_dim = 4, .layers = 3};

Row row_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.to(at::kDouble).contiguous();
  return {plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel()};
}

/// Parameters by name, as plain numbers.
class Plain {
 public:
  explicit Plain(const StarTransformer& model) : parameters_(model->named_parameters()) {}

  Row times(const std::string& name, const Row& x) const {
    const at::Tensor& weight = parameters_[name + ".weight"];
    Row y = row_of(parameters_[name + ".bias"].detach());
    const Row numbers = row_of(weight.detach());
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j) {
        y[i] += numbers[i * x.size() + j] * x[j];
      }
    }
    return y;
  }

  Row normalised(const std::string& name, const Row& x) const {
    double mean = 0;
    double square = 0;
    for (const double number : x) {
      mean += number / static_cast<double>(x.size());
    }
    for (const double number : x) {
      square += (number - mean) * (number - mean) / static_cast<double>(x.size());
    }
    const Row scale = row_of(parameters_[name + ".weight"].detach());
    const Row shift = row_of(parameters_[name + ".bias"].detach());
    Row y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = (x[i] - mean) / std::sqrt(square + 1e-6) * scale[i] + shift[i];
    }
    return y;
  }

 private:
  torch::OrderedDict<std::string, at::Tensor> parameters_;
};

/// One head after the other; an empty row among `seen` is a key and a value of zeros.
Row attention_equation(const Plain& plain, const std::string& name, const Row& x, const std::vector<Row>& seen,
                       const StarConfig& config) {
  const std::size_t columns = static_cast<std::size_t>(config.heads * config.head_dim);
  const std::size_t width = static_cast<std::size_t>(config.head_dim);
  const Row query = plain.times(name + ".query", x);
  std::vector<Row> keys;
  keys.reserve(seen.size());
  for (const Row& one : seen) {
    keys.push_back(one.empty() ? Row(2 * columns, 0.0) : plain.times(name + ".key_value", one));
  }
  Row joined(columns, 0.0);
  for (std::size_t first = 0; first < columns; first += width) {
    Row weights;
    double total = 0;
    for (const Row& key : keys) {
      double score = 0;
      for (std::size_t i = first; i < first + width; ++i) {
        score += query[i] * key[i] / std::sqrt(static_cast<double>(width));
      }
      weights.push_back(std::exp(score));
      total += weights.back();
    }
    for (std::size_t one = 0; one < keys.size(); ++one) {
      for (std::size_t i = first; i < first + width; ++i) {
        joined[i] += weights[one] / total * keys[one][columns + i];
      }
    }
  }
  Row y = plain.times(name + ".output", joined);
  for (double& number : y) {
    number = number < 0 ? 0.01 * number : number;
  }
  return y;
}

/// The satellites and behind them the relay of one text without padding.
std::vector<Row> star_equations(const StarTransformer& model, const std::vector<Row>& embeddings,
                                const StarConfig& config) {
  const Plain plain(model);
  std::vector<Row> nodes = embeddings;
  Row relay(embeddings.front().size(), 0.0);
  for (const Row& one : embeddings) {
    for (std::size_t i = 0; i < relay.size(); ++i) {
      relay[i] += one[i] / static_cast<double>(embeddings.size());
    }
  }
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string name = "layers." + std::to_string(layer);
    std::vector<Row> x;
    x.reserve(nodes.size());
    for (const Row& node : nodes) {
      x.push_back(plain.normalised(name + ".norm", node));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Row before = i > 0 ? x[i - 1] : Row();
      const Row behind = i + 1 < x.size() ? x[i + 1] : Row();
      nodes[i] = attention_equation(plain, name + ".ring", x[i], {before, x[i], behind, embeddings[i], relay}, config);
    }
    std::vector<Row> all = nodes;
    all.push_back(relay);
    relay = attention_equation(plain, name + ".relay", relay, all, config);
  }
  nodes.push_back(relay);
  return nodes;
}

double star_gap(const StarNodes& found, std::int64_t row, std::int64_t first, const std::vector<Row>& expected) {
  double gap = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool is_relay = i + 1 == expected.size();
    const Row own =
        row_of((is_relay ? found.relay[row] : found.satellites[row][first + static_cast<std::int64_t>(i)]).detach());
    for (std::size_t column = 0; column < own.size(); ++column) {
      const double difference = std::abs(own[column] - expected[i][column]);
      gap = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(gap, difference);
    }
  }
  return gap;
}

std::vector<Row> star_rows(const at::Tensor& embeddings) {
  std::vector<Row> rows;
  rows.reserve(static_cast<std::size_t>(embeddings.size(0)));
  for (std::int64_t i = 0; i < embeddings.size(0); ++i) {
    rows.push_back(row_of(embeddings[i]));
  }
  return rows;
}

TEST(StarTransformer, EqualsTheEquations) {
  StarTransformer model = star(kSmallStar);
  for (const std::int64_t length : {1, 2, 3, 7, 12}) {
    const at::Tensor embeddings = at::randn({2, length, 6}, at::kDouble);
    const StarNodes found = model(embeddings);
    for (const std::int64_t row : {0, 1}) {
      EXPECT_LT(star_gap(found, row, 0, star_equations(model, star_rows(embeddings[row]), kSmallStar)), 1e-12)
          << length;
    }
  }
}

// Rows of 9, 4 (padded behind), 5 (padded before), 1 and no tokens: each is what it is alone, though padding holds NaN.
TEST(StarTransformer, PaddingAndOtherRowsChangeNothing) {
  StarTransformer model = star(kSmallStar);
  const std::vector<std::pair<std::int64_t, std::int64_t>> texts = {{0, 9}, {0, 4}, {4, 5}, {3, 1}, {0, 0}};
  at::Tensor embeddings = at::randn({5, 9, 6}, at::kDouble);
  at::Tensor keep = at::zeros({5, 9}, at::kBool);
  for (std::size_t row = 0; row < texts.size(); ++row) {
    keep[static_cast<std::int64_t>(row)].narrow(0, texts[row].first, texts[row].second).fill_(true);
  }
  embeddings = embeddings.masked_fill(keep.logical_not().unsqueeze(-1), std::numeric_limits<double>::quiet_NaN())
                   .requires_grad_();
  const StarNodes found = model(embeddings, keep);
  for (std::size_t row = 0; row + 1 < texts.size(); ++row) {
    const auto at = static_cast<std::int64_t>(row);
    const at::Tensor text = embeddings.detach()[at].narrow(0, texts[row].first, texts[row].second);
    EXPECT_LT(star_gap(found, at, texts[row].first, star_equations(model, star_rows(text), kSmallStar)), 1e-12) << row;
  }
  EXPECT_TRUE((found.satellites.masked_select(keep.logical_not().unsqueeze(-1)) == 0).all().item<bool>());
  EXPECT_TRUE(at::isfinite(found.relay).all().item<bool>()) << "a row without tokens";
  (found.satellites.sum() + found.relay.sum()).backward();
  const at::Tensor gradient = embeddings.grad();
  EXPECT_TRUE((gradient.masked_select(keep.logical_not().unsqueeze(-1)) == 0).all().item<bool>());
  EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
}

TEST(StarTransformer, GradientsAreThoseOfTheFunction) {
  StarTransformer model = star({.hidden_size = 4, .heads = 1, .head_dim = 3, .layers = 2});
  const at::Tensor keep = at::arange(5).unsqueeze(0) < at::tensor({5, 3}).unsqueeze(1);
  const auto call = [&](const std::vector<at::Tensor>& inputs) {
    const StarNodes nodes = model(inputs[0], keep);
    return at::cat({nodes.satellites, nodes.relay.unsqueeze(1)}, 1);
  };
  testing::expect_gradients(call, {at::randn({2, 5, 4}, at::kDouble)}, 1e-5);
}

TEST(StarTransformer, BFloat16IsNearFloat32) {
  StarTransformer model = star({.hidden_size = 32, .heads = 4, .head_dim = 8, .layers = 2}, at::kFloat);
  const at::NoGradGuard without_gradients;
  for (at::Tensor& parameter : model->parameters()) {
    parameter.mul_(parameter.dim() == 1 ? 1.0 : 0.3);
  }
  const at::Tensor embeddings = at::randn({2, 40, 32});
  const StarNodes exact = model(embeddings);
  model->to(at::kBFloat16);
  const StarNodes rounded = model(embeddings.to(at::kBFloat16));
  EXPECT_EQ(rounded.relay.scalar_type(), at::kBFloat16);
  // Two layers of projections, each rounded to 2^-9.
  EXPECT_LT((rounded.satellites.to(at::kFloat) - exact.satellites).abs().max().item<double>(),
            0.05 * exact.satellites.abs().max().item<double>());
}

TEST(StarTransformer, MemoryIsProportionalToTheLength) {
  StarTransformer model = star({.hidden_size = 16, .heads = 2, .head_dim = 8, .layers = 2}, at::kFloat);
  const auto peak = [&](std::int64_t length) {
    const at::Tensor embeddings = at::randn({1, length, 16});
    return testing::peak_tensor_bytes([&] { model(embeddings).satellites.sum().backward(); });
  };
  EXPECT_LT(peak(8192), 4.2 * static_cast<double>(peak(2048)) + (1 << 20));
}

TEST(StarTransformer, ErrorsNameWhatDoesNotFit) {
  StarTransformer model = star(kSmallStar);
  expect_error(ErrorKind::kArgument, {"width 6", "[2, 3, 5]"}, [&] { model(at::randn({2, 3, 5}, at::kDouble)); });
  expect_error(ErrorKind::kArgument, {"mask", "[2, 4]"},
               [&] { model(at::randn({2, 3, 6}, at::kDouble), at::ones({2, 4}, at::kBool)); });
  expect_error(ErrorKind::kArgument, {"at least 1", "0"}, [] { star({.heads = 0}); });
}

}  // namespace
}  // namespace weft::test
