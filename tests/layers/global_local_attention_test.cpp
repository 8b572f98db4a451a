// SPDX-License-Identifier: Apache-2.0
// ETC's attention against its equations, pair by pair in float64, over lengths, padding, rows of a batch and hard
// edges; gradients; memory.
#include "support/layers/global_local_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "support/torch_memory.h"

namespace weft::test {
namespace {

using attention::EtcStructure;
using testing::GlobalLocalAttention;
using testing::GlobalLocalConfig;
using testing::GlobalLocalRows;

GlobalLocalConfig small_global_local() {
  GlobalLocalConfig config;
  config.hidden_size = 6;
  config.heads = 2;
  config.head_dim = 3;
  config.radius = 4;
  config.max_distance = 2;
  return config;
}

GlobalLocalAttention global_local(const GlobalLocalConfig& config, at::ScalarType type = at::kDouble) {
  at::manual_seed(7);
  GlobalLocalAttention model(config, at::TensorOptions(type));
  const at::NoGradGuard without_gradients;
  for (at::Tensor& parameter : model->parameters()) {
    parameter.copy_(at::randn(parameter.sizes()) * 0.4);
  }
  model->eval();
  return model;
}

using Numbers = std::vector<double>;

Numbers plain_numbers(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kDouble).contiguous();
  return {plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel()};
}

/// One text without padding: rows, and for each token the global tokens that it belongs to.
struct PlainText {
  std::vector<Numbers> tokens;
  std::vector<Numbers> globals;
  std::vector<std::int64_t> sentence;
  std::vector<std::int64_t> paragraph;
  std::vector<std::int64_t> linked;
  std::vector<std::int64_t> segment;
  std::vector<std::int64_t> global_segment;
  std::vector<bool> sees_all;
};

/// The equations, with the global tokens behind the long ones.
class PairEquations {
 public:
  PairEquations(const GlobalLocalAttention& model, const GlobalLocalConfig& config, PlainText text)
      : parameters_(model->named_parameters()), config_(config), text_(std::move(text)) {
    for (const Numbers& row : text_.tokens) {
      projected_.push_back(times("query_key_value", row));
    }
    const char* of_globals = config.shared_projections ? "query_key_value" : "global_query_key_value";
    for (const Numbers& row : text_.globals) {
      projected_.push_back(times(of_globals, row));
    }
    tables_ = {plain_numbers(parameters_["labels"]), plain_numbers(parameters_["global_labels"])};
    biases_ = {plain_numbers(parameters_["label_bias"]), plain_numbers(parameters_["global_label_bias"])};
  }

  Numbers row(std::int64_t query) const {
    const auto columns = static_cast<std::size_t>(config_.heads * config_.head_dim);
    Numbers joined(columns, 0.0);
    for (std::int64_t head = 0; head < config_.heads; ++head) {
      Numbers weights(projected_.size(), 0.0);
      double total = 0;
      for (std::int64_t key = 0; key < std::ssize(projected_); ++key) {
        if (has_edge(query, key)) {
          weights[static_cast<std::size_t>(key)] = std::exp(score(query, key, head));
          total += weights[static_cast<std::size_t>(key)];
        }
      }
      for (std::size_t key = 0; total > 0 && key < projected_.size(); ++key) {
        for (std::int64_t i = head * config_.head_dim; i < (head + 1) * config_.head_dim; ++i) {
          const auto at = static_cast<std::size_t>(i);
          joined[at] += weights[key] / total * projected_[key][2 * columns + at];
        }
      }
    }
    return times(is_global(query) && !config_.shared_output ? "global_output" : "output", joined);
  }

 private:
  std::int64_t length() const { return std::ssize(text_.tokens); }
  bool is_global(std::int64_t i) const { return i >= length(); }

  bool own(std::int64_t token, std::int64_t global) const {
    const auto at = static_cast<std::size_t>(token);
    return text_.sentence[at] == global || text_.paragraph[at] == global || text_.linked[at] == global;
  }

  bool has_edge(std::int64_t query, std::int64_t key) const {
    if (is_global(query) && !is_global(key)) {
      const std::int64_t global = query - length();
      return !config_.hard_global_to_long || own(key, global) || text_.sees_all[static_cast<std::size_t>(global)];
    }
    if (!is_global(query) && is_global(key)) {
      return !config_.hard_long_to_global || own(query, key - length());
    }
    if (is_global(query)) {
      return true;
    }
    const bool same = text_.segment[static_cast<std::size_t>(query)] == text_.segment[static_cast<std::size_t>(key)];
    return same && std::abs(query - key) <= config_.radius;
  }

  std::int64_t label(std::int64_t query, std::int64_t key) const {
    const std::int64_t most = config_.max_distance;
    if (is_global(query) != is_global(key)) {
      const bool same = is_global(query) ? own(key, query - length()) : own(query, key - length());
      return 2 * most + (same ? 2 : 1);
    }
    if (is_global(query) && text_.global_segment[static_cast<std::size_t>(query - length())] !=
                                text_.global_segment[static_cast<std::size_t>(key - length())]) {
      return 2 * most + 3;
    }
    const std::int64_t distance = std::min(most, std::abs(key - query));
    return key >= query ? distance : most + distance;
  }

  double score(std::int64_t query, std::int64_t key, std::int64_t head) const {
    const std::int64_t columns = config_.heads * config_.head_dim;
    const std::int64_t its_label = label(query, key);
    const std::size_t table = is_global(query) ? 1 : 0;
    double sum = biases_[table][static_cast<std::size_t>(its_label * config_.heads + head)];
    for (std::int64_t i = head * config_.head_dim; i < (head + 1) * config_.head_dim; ++i) {
      const double q = projected_[static_cast<std::size_t>(query)][static_cast<std::size_t>(i)];
      sum += q * projected_[static_cast<std::size_t>(key)][static_cast<std::size_t>(columns + i)];
      sum += q * tables_[table][static_cast<std::size_t>(its_label * columns + i)];
    }
    return sum / std::sqrt(static_cast<double>(config_.head_dim));
  }

  Numbers times(const std::string& name, const Numbers& x) const {
    Numbers y = plain_numbers(parameters_[name + ".bias"]);
    const Numbers weight = plain_numbers(parameters_[name + ".weight"]);
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j) {
        y[i] += weight[i * x.size() + j] * x[j];
      }
    }
    return y;
  }

  torch::OrderedDict<std::string, at::Tensor> parameters_;
  GlobalLocalConfig config_;
  PlainText text_;
  std::vector<Numbers> projected_;
  std::vector<Numbers> tables_;
  std::vector<Numbers> biases_;
};

/// Random sentences and paragraphs, some tokens in none.
EtcStructure random_structure(std::int64_t batch, std::int64_t tokens, std::int64_t globals) {
  EtcStructure structure;
  structure.sentence = at::randint(-1, globals, {batch, tokens}, at::kLong);
  structure.paragraph = at::randint(-1, globals, {batch, tokens}, at::kLong);
  structure.linked = at::randint(-1, globals, {batch, tokens}, at::kLong);
  structure.segment = (at::randint(0, 12, {batch, tokens}, at::kLong) == 0).cumsum(1);
  structure.global_segment = (at::randint(0, 4, {batch, globals}, at::kLong) == 0).cumsum(1);
  structure.sees_all = at::zeros({batch, globals}, at::kBool);
  structure.sees_all.select(1, 0).fill_(true);
  return structure;
}

/// Row `row` of a batch, `tokens` from `first` on and the first `globals`.
PlainText plain_text(const GlobalLocalRows& x, const EtcStructure& structure, std::int64_t row, std::int64_t first,
                     std::int64_t tokens, std::int64_t globals) {
  PlainText text;
  for (std::int64_t i = first; i < first + tokens; ++i) {
    text.tokens.push_back(plain_numbers(x.tokens[row][i]));
    text.sentence.push_back(structure.sentence[row][i].item<std::int64_t>());
    text.paragraph.push_back(structure.paragraph[row][i].item<std::int64_t>());
    text.linked.push_back(structure.linked[row][i].item<std::int64_t>());
    text.segment.push_back(structure.segment[row][i].item<std::int64_t>());
  }
  for (std::int64_t i = 0; i < globals; ++i) {
    text.global_segment.push_back(structure.global_segment[row][i].item<std::int64_t>());
    text.globals.push_back(plain_numbers(x.globals[row][i]));
    text.sees_all.push_back(structure.sees_all[row][i].item<bool>());
  }
  return text;
}

/// The largest difference between a text's rows in the result and the equations.
double equation_gap(const GlobalLocalRows& found, std::int64_t row, std::int64_t first, const PairEquations& equations,
                    std::int64_t tokens, std::int64_t globals) {
  double gap = 0;
  for (std::int64_t i = 0; i < tokens + globals; ++i) {
    const Numbers own = plain_numbers(i < tokens ? found.tokens[row][first + i] : found.globals[row][i - tokens]);
    const Numbers expected = equations.row(i);
    for (std::size_t column = 0; column < own.size(); ++column) {
      const double difference = std::abs(own[column] - expected[column]);
      gap = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(gap, difference);
    }
  }
  return gap;
}

double gap_of(const GlobalLocalConfig& config, std::int64_t tokens, std::int64_t globals,
              at::ScalarType type = at::kDouble) {
  GlobalLocalAttention model = global_local(config, type);
  const at::TensorOptions options(type);
  const GlobalLocalRows x{at::randn({2, tokens, config.hidden_size}, options),
                          at::randn({2, globals, config.hidden_size}, options)};
  const EtcStructure structure = random_structure(2, tokens, globals);
  const GlobalLocalRows found = model->forward(x, structure);
  double gap = 0;
  for (const std::int64_t row : {0, 1}) {
    const PairEquations equations(model, config, plain_text(x, structure, row, 0, tokens, globals));
    gap = std::max(gap, equation_gap(found, row, 0, equations, tokens, globals));
  }
  return gap;
}

TEST(GlobalLocalAttention, EqualsTheEquationsAtAnyLength) {
  for (const std::int64_t tokens : {1, 2, 3, 4, 5, 8, 9, 13, 31, 64}) {
    for (const std::int64_t globals : {1, 3}) {
      EXPECT_LT(gap_of(small_global_local(), tokens, globals), 1e-9) << tokens << " and " << globals;
    }
  }
}

TEST(GlobalLocalAttention, EqualsTheEquationsWithThePublishedRadiusAndLabels) {
  GlobalLocalConfig config = small_global_local();
  config.radius = 84;
  config.max_distance = 12;
  for (const std::int64_t tokens : {83, 84, 85, 300}) {
    EXPECT_LT(gap_of(config, tokens, 15), 1e-9) << tokens;
  }
  EXPECT_EQ(attention::relative_labels(12), 28);
  EXPECT_LT(gap_of(config, 171, 5, at::kFloat), 1e-4);
}

TEST(GlobalLocalAttention, ProjectionsOfItsOwnAndHardEdges) {
  for (const bool shared : {false, true}) {
    for (const int hard : {1, 2, 3}) {
      GlobalLocalConfig config = small_global_local();
      config.shared_projections = shared;
      config.shared_output = !shared;
      config.hard_global_to_long = (hard & 1) != 0;
      config.hard_long_to_global = (hard & 2) != 0;
      EXPECT_LT(gap_of(config, 23, 6), 1e-9) << shared << hard;
    }
  }
}

// Rows of 11, 5 (padded behind), 6 (padded before) and no tokens, with 4, 2, 3 and 1 global tokens: each is what it is
// alone, though padding holds NaN.
TEST(GlobalLocalAttention, PaddingAndOtherRowsChangeNothing) {
  const GlobalLocalConfig config = small_global_local();
  GlobalLocalAttention model = global_local(config);
  const std::vector<std::pair<std::int64_t, std::int64_t>> texts = {{0, 11}, {0, 5}, {5, 6}, {0, 0}};
  const std::vector<std::int64_t> counts = {4, 2, 3, 1};
  EtcStructure structure = random_structure(4, 11, 4);
  structure.keep = at::zeros({4, 11}, at::kBool);
  structure.global_keep = at::zeros({4, 4}, at::kBool);
  for (std::size_t row = 0; row < texts.size(); ++row) {
    const auto at = static_cast<std::int64_t>(row);
    structure.keep[at].narrow(0, texts[row].first, texts[row].second).fill_(true);
    structure.global_keep[at].narrow(0, 0, counts[row]).fill_(true);
  }
  const auto with_nan = [](const at::Tensor& rows, const at::Tensor& keep) {
    return rows.masked_fill(keep.logical_not().unsqueeze(-1), std::numeric_limits<double>::quiet_NaN())
        .requires_grad_();
  };
  const GlobalLocalRows x{with_nan(at::randn({4, 11, 6}, at::kDouble), structure.keep),
                          with_nan(at::randn({4, 4, 6}, at::kDouble), structure.global_keep)};
  const GlobalLocalRows found = model->forward(x, structure);
  for (std::size_t row = 0; row < texts.size(); ++row) {
    const auto at = static_cast<std::int64_t>(row);
    const auto [first, tokens] = texts[row];
    const PairEquations equations(model, config, plain_text(x, structure, at, first, tokens, counts[row]));
    EXPECT_LT(equation_gap(found, at, first, equations, tokens, counts[row]), 1e-9) << row;
  }
  EXPECT_TRUE((found.tokens.masked_select(structure.keep.logical_not().unsqueeze(-1)) == 0).all().item<bool>());
  (found.tokens.sum() + found.globals.sum()).backward();
  for (const auto& [rows, keep] : {std::pair{x.tokens, structure.keep}, {x.globals, structure.global_keep}}) {
    EXPECT_TRUE(at::isfinite(rows.grad()).all().item<bool>());
    EXPECT_TRUE((rows.grad().masked_select(keep.logical_not().unsqueeze(-1)) == 0).all().item<bool>());
  }
}

TEST(GlobalLocalAttention, RowsWithoutAnEdgeAreZerosBeforeTheOutput) {
  GlobalLocalConfig config = small_global_local();
  config.hard_global_to_long = true;
  config.hard_long_to_global = true;
  GlobalLocalAttention model = global_local(config);
  EtcStructure structure;
  structure.keep = at::zeros({1, 3}, at::kBool);
  structure.global_keep = at::zeros({1, 2}, at::kBool);
  const GlobalLocalRows found =
      model->forward({at::randn({1, 3, 6}, at::kDouble), at::randn({1, 2, 6}, at::kDouble)}, structure);
  EXPECT_TRUE((found.tokens == 0).all().item<bool>());
  EXPECT_TRUE((found.globals == 0).all().item<bool>());
}

TEST(GlobalLocalAttention, GradientsAreThoseOfTheFunction) {
  GlobalLocalConfig config = small_global_local();
  config.radius = 2;
  GlobalLocalAttention model = global_local(config);
  EtcStructure structure = random_structure(2, 5, 2);
  structure.keep = at::ones({2, 5}, at::kBool);
  structure.keep[1][4].fill_(false);
  const auto of_inputs = [&](const std::vector<at::Tensor>& inputs) {
    const GlobalLocalRows rows = model->forward({inputs[0], inputs[1]}, structure);
    return at::cat({rows.tokens, rows.globals}, 1);
  };
  const at::Tensor tokens = at::randn({2, 5, 6}, at::kDouble);
  const at::Tensor globals = at::randn({2, 2, 6}, at::kDouble);
  testing::expect_gradients(of_inputs, {tokens, globals}, 1e-5);
  for (const char* name : {"labels", "label_bias", "global_labels", "global_label_bias"}) {
    const at::Tensor parameter = model->named_parameters()[name];
    const auto of_table = [&](const std::vector<at::Tensor>& inputs) {
      GlobalLocalAttention changed = global_local(config);
      (name == std::string("labels")          ? changed->labels
       : name == std::string("label_bias")    ? changed->label_bias
       : name == std::string("global_labels") ? changed->global_labels
                                              : changed->global_label_bias) = inputs[0];
      const GlobalLocalRows rows = changed->forward({tokens, globals}, structure);
      return at::cat({rows.tokens, rows.globals}, 1);
    };
    testing::expect_gradients(of_table, {parameter.detach()}, 1e-5);
  }
}

TEST(GlobalLocalAttention, LabelTablesBeginAsPublished) {
  GlobalLocalConfig config;
  const GlobalLocalAttention model(config, at::TensorOptions(at::kFloat));
  EXPECT_EQ(model->labels.sizes(), (std::vector<std::int64_t>{28, 12, 64}));
  EXPECT_NEAR(model->labels.std().item<double>(), 0.5, 0.02);
  EXPECT_NEAR(model->global_labels.std().item<double>(), 0.5, 0.02);
  EXPECT_EQ(model->label_bias.abs().max().item<double>(), 0.0);
}

TEST(GlobalLocalAttention, DropoutComesFromTheSeedAndOnlyWhileTraining) {
  GlobalLocalConfig config = small_global_local();
  config.dropout = 0.3;
  GlobalLocalAttention model = global_local(config);
  const GlobalLocalRows x{at::randn({1, 9, 6}, at::kDouble), at::randn({1, 2, 6}, at::kDouble)};
  const at::Tensor plain = model->forward(x).tokens;
  model->train();
  const at::Tensor dropped = model->forward(x, {}, 4).tokens;
  EXPECT_TRUE(dropped.equal(model->forward(x, {}, 4).tokens));
  EXPECT_FALSE(dropped.equal(model->forward(x, {}, 5).tokens));
  EXPECT_FALSE(dropped.equal(plain));
}

TEST(GlobalLocalAttention, MemoryIsProportionalToTheLength) {
  GlobalLocalConfig config = small_global_local();
  config.radius = 16;
  GlobalLocalAttention model = global_local(config, at::kFloat);
  const at::Tensor globals = at::randn({1, 8, 6});
  const auto peak = [&](std::int64_t length) {
    const at::Tensor tokens = at::randn({1, length, 6});
    return testing::peak_tensor_bytes([&] {
      const GlobalLocalRows rows = model->forward({tokens, globals});
      (rows.tokens.sum() + rows.globals.sum()).backward();
    });
  };
  EXPECT_LT(peak(32768), 4.2 * static_cast<double>(peak(8192)) + (1 << 20));
}

TEST(GlobalLocalAttention, BFloat16IsNearFloat32) {
  GlobalLocalConfig config = small_global_local();
  config.hidden_size = 32;
  config.head_dim = 16;
  GlobalLocalAttention model = global_local(config, at::kFloat);
  const GlobalLocalRows x{at::randn({1, 40, 32}), at::randn({1, 3, 32})};
  const at::Tensor exact = model->forward(x).tokens;
  model->to(at::kBFloat16);
  const GlobalLocalRows rounded = model->forward({x.tokens.to(at::kBFloat16), x.globals.to(at::kBFloat16)});
  EXPECT_EQ(rounded.globals.scalar_type(), at::kBFloat16);
  EXPECT_LT((rounded.tokens.to(at::kFloat) - exact).abs().max().item<double>(),
            0.05 * exact.abs().max().item<double>());
}

TEST(GlobalLocalAttention, ErrorsNameWhatDoesNotFit) {
  GlobalLocalAttention model = global_local(small_global_local());
  const at::Tensor tokens = at::randn({2, 3, 6}, at::kDouble);
  const at::Tensor globals = at::randn({2, 1, 6}, at::kDouble);
  expect_error(ErrorKind::kArgument, {"width 6", "[2, 3, 5]"},
               [&] { model->forward({at::randn({2, 3, 5}, at::kDouble), globals}); });
  expect_error(ErrorKind::kArgument, {"one global token", "[2, 0, 6]"},
               [&] { model->forward({tokens, at::zeros({2, 0, 6}, at::kDouble)}); });
  expect_error(ErrorKind::kArgument, {"sentence numbers", "[2, 3]", "[2, 4]"}, [&] {
    EtcStructure structure;
    structure.sentence = at::zeros({2, 4}, at::kLong);
    model->forward({tokens, globals}, structure);
  });
  expect_error(ErrorKind::kArgument, {"radius", "at least 1"}, [] {
    GlobalLocalConfig config;
    config.radius = 0;
    global_local(config);
  });
}

}  // namespace
}  // namespace weft::test
