// SPDX-License-Identifier: Apache-2.0
// FAVOR+ against its equations in float64 with the same random rows; what its features estimate; large norms; memory.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/linear/redrawn_features.h"

namespace weft::test {
namespace {

using attention::make_attention;
using attention::MechanismSite;

std::shared_ptr<attention::AttentionImpl> performer(const std::string& settings, bool causal, std::int64_t width = 8,
                                                    const at::TensorOptions& options = {}) {
  MechanismSite site;
  site.heads = 2;
  site.head_dim = width;
  site.causal = causal;
  return make_attention("performer(" + settings + ")", site, options);
}

at::Tensor random_rows(const attention::AttentionImpl& module) {
  return module.named_parameters()["projection"].to(at::kDouble);
}

// Choromanski et al. 2021, lemma 1 and equation 5: all pairs, [B, H, Q, K], as logarithms and signs would have it: the
// factors of a row of queries are left out.
at::Tensor favor_equations(const Tensors& tensors, const at::Tensor& projection, bool positive, bool causal) {
  const auto wide = [](const at::Tensor& x) {
    return x.to(at::kDouble) / std::pow(static_cast<double>(x.size(-1)), 0.25);
  };
  const at::Tensor query = wide(tensors.query);
  const at::Tensor key = wide(tensors.key);
  const auto angles = [&](const at::Tensor& x) { return at::matmul(x, projection.t()); };
  const auto half = [](const at::Tensor& x) { return x.square().sum(-1, true) / 2; };
  at::Tensor weights;
  if (positive) {
    weights = at::matmul(at::exp(angles(query) - half(query)), at::exp(angles(key) - half(key)).transpose(2, 3));
  } else {
    const at::Tensor difference = angles(query).unsqueeze(3) - angles(key).unsqueeze(2);  // [B, H, Q, K, rows]
    weights = at::exp(half(query) + half(key).transpose(2, 3)) * difference.cos().sum(-1);
  }
  weights = causal ? weights.tril() : weights;
  return at::matmul(weights, tensors.value.to(at::kDouble)) / weights.sum(-1, true);
}

double largest_gap_of(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST(PerformerAttention, EqualsTheEquations) {
  for (const bool causal : {false, true}) {
    for (const std::string map : {"positive", "trigonometric"}) {
      for (const std::int64_t length : {1, 5, 64, 131}) {
        const Tensors tensors = random_tensors({2, 2, length, 8}, at::kDouble);
        const auto module = performer("features=64, map=" + map, causal, 8, at::kDouble);
        const at::Tensor expected = favor_equations(tensors, random_rows(*module), map == "positive", causal);
        const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
        // Denominators of sines and cosines may be near 0, where the quotient has fewer digits.
        EXPECT_LT(((output - expected).abs() / (expected.abs() + 1)).max().item<double>(), 1e-8) << map << length;
      }
    }
  }
}

// |k| of 30 to 40, on 64 columns: exponents of keys lie 100 apart, and float32 without a common factor would lose them.
TEST(PerformerAttention, LargeNormsStayInRange) {
  for (const bool causal : {false, true}) {
    Tensors tensors = random_tensors({1, 2, 150, 64});
    tensors.query = tensors.query * 4;
    tensors.key = tensors.key * 4;
    const auto module = performer("features=256, seed=1", causal, 64);
    const at::Tensor expected = favor_equations(tensors, random_rows(*module), true, causal);
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
    EXPECT_LT(largest_gap_of(output, expected), 2e-3);
    const at::Tensor largest = module->forward(tensors.query * 1e6, tensors.key * 1e6, tensors.value, {});
    EXPECT_TRUE(at::isfinite(largest).all().item<bool>()) << "keys beyond the range count nothing";
  }
}

// Exponents of wide heads leave the range of float32 unless the largest of a key is taken out of them. Outputs are
// below 4: bfloat16 rounds them by up to half of 2^-7 * 4, and float32 loses what its exponents of up to 100 do.
TEST(PerformerAttention, WideHeadsEqualTheEquations) {
  for (const std::int64_t width : {128, 192, 256}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      for (const bool causal : {false, true}) {
        const Tensors tensors = random_tensors({1, 2, 150, width}, type);
        const auto module = performer("features=256, orthogonal=no, seed=1", causal, width, type);
        const at::Tensor expected = favor_equations(tensors, random_rows(*module), true, causal);
        const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
        EXPECT_EQ(output.scalar_type(), type);
        EXPECT_GT(expected.abs().mean().item<double>(), 0.05) << "outputs near 0 would show nothing";
        EXPECT_LT(largest_gap_of(output, expected), type == at::kFloat ? 1e-3 : 0.0157)
            << width << ' ' << type << ", causal " << causal;
      }
    }
  }
}

// exp(|k'|^2 / 2) of up to e^200 is a level of its own, too.
TEST(PerformerAttention, LargeKeysOfSinesEqualTheEquations) {
  for (const bool causal : {false, true}) {
    Tensors tensors = random_tensors({1, 2, 150, 64}, at::kDouble);
    tensors.key = tensors.key * 7;
    const auto module = performer("features=64, map=trigonometric, seed=1", causal, 64, at::kDouble);
    const at::Tensor expected = favor_equations(tensors, random_rows(*module), false, causal);
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
    EXPECT_LT(((output - expected).abs() / (expected.abs() + 1)).max().item<double>(), 1e-8);
  }
}

/// Tokens of two heads, wide ones; those from 100 on have far larger features than those before.
Tensors rising_tensors(const attention::AttentionImpl& module, std::int64_t width) {
  Tensors tensors = random_tensors({2, 2, 150, width});
  const at::Tensor largest = random_rows(module)[0].to(at::kFloat) * std::pow(static_cast<double>(width), 0.25);
  tensors.key.narrow(2, 100, 25).copy_(largest);
  return tensors;
}

TEST(PerformerAttention, LargerKeysLaterChangeNoEarlierRow) {
  const auto module = performer("features=256, seed=1", true, 256);
  const Tensors tensors = rising_tensors(*module, 256);
  const Tensors before = random_tensors({2, 2, 150, 256});
  const at::Tensor expected = favor_equations(tensors, random_rows(*module), true, true);
  const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
  EXPECT_LT(largest_gap_of(output, expected), 1e-3);
  const at::Tensor was = module->forward(before.query, before.key, before.value, {});
  EXPECT_TRUE(at::equal(output.narrow(2, 0, 100), was.narrow(2, 0, 100)));
  attention::AttentionContext context;  // queries behind keys that are summed first
  for (const std::int64_t offset : {40, 110}) {
    context.query_offset = offset;
    const at::Tensor part = module->forward(tensors.query.narrow(2, offset, 20), tensors.key, tensors.value, context);
    EXPECT_LT(largest_gap_of(part, expected.narrow(2, offset, 20)), 1e-3) << offset;
  }
  context.query_offset = 149;  // and a query behind all keys but its own
  const at::Tensor last = module->forward(tensors.query.narrow(2, 149, 1), tensors.key, tensors.value, context);
  EXPECT_LT(largest_gap_of(last, expected.narrow(2, 149, 1)), 1e-3);
}

TEST(PerformerAttention, AStateOfWideHeadsGoesOnAlsoWhenItIsSaved) {
  const auto module = performer("features=256, seed=1", true, 256);
  const Tensors tensors = rising_tensors(*module, 256);
  const at::Tensor expected = favor_equations(tensors, random_rows(*module), true, true);
  auto state = module->initial_state();
  std::int64_t first = 0;
  for (const std::int64_t count : {66, 1, 32, 1, 3, 1, 30, 16}) {
    attention::AttentionContext context;
    context.query_offset = first;
    const auto part = [&](const at::Tensor& tensor) { return tensor.narrow(2, first, count); };
    const at::Tensor output =
        module->step(part(tensors.query), part(tensors.key), part(tensors.value), context, *state);
    EXPECT_LT(largest_gap_of(output, part(expected)), 1e-3) << first;
    state->advance();
    state->reorder(at::tensor({0, 1}, at::kLong));
    auto loaded = state->fresh();
    loaded->load(state->save(), state->length());
    state = std::move(loaded);
    first += count;
  }
  attention::NamedTensors sums = state->save();
  sums.pop_back();
  const auto earlier = state->fresh();
  earlier->load(sums, state->length());
  attention::AttentionContext context;
  context.query_offset = first;
  const at::Tensor token = tensors.query.narrow(2, 0, 1);
  expect_error(ErrorKind::kArgument, {"level", "earlier version"},
               [&] { module->step(token, token, token, context, *earlier); });
}

TEST(PerformerAttention, GradientsOfWideHeadsAreThoseOfTheEquations) {
  for (const bool causal : {false, true}) {
    const auto module = performer("features=256, seed=1", causal, 256);
    // Where all keys are seen the largest ones alone count, and no gradient reaches the others.
    const Tensors tensors = causal ? rising_tensors(*module, 256) : random_tensors({2, 2, 150, 256});
    const at::Tensor direction = at::randn({2, 2, 150, 256});
    std::vector<at::Tensor> inputs = {tensors.query.requires_grad_(), tensors.key.requires_grad_(),
                                      tensors.value.requires_grad_()};
    (favor_equations(tensors, random_rows(*module), true, causal) * direction).sum().backward();
    std::vector<at::Tensor> expected;
    for (at::Tensor& input : inputs) {
      expected.push_back(input.grad().clone());
      input.mutable_grad().reset();
    }
    (module->forward(tensors.query, tensors.key, tensors.value, {}) * direction).sum().backward();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double largest = expected[i].abs().max().item<double>();
      EXPECT_GT(largest, 1e-3) << i;
      EXPECT_LT(largest_gap_of(inputs[i].grad(), expected[i]), 1e-3 * (1 + largest)) << i << ", causal " << causal;
    }
  }
}

TEST(PerformerAttention, EstimatesSoftmaxAttention) {
  Tensors tensors = random_tensors({1, 2, 60, 16}, at::kDouble);
  tensors.query = tensors.query * 0.5;  // the variance grows as exp(|q' + k'|^2)
  tensors.key = tensors.key * 0.5;
  const at::Tensor exact =
      at::matmul(at::softmax(at::matmul(tensors.query, tensors.key.transpose(2, 3)) / 4, -1), tensors.value);
  const auto error = [&](const std::string& settings) {
    const auto module = performer(settings + ", seed=5", false, 16, at::kDouble);
    return (module->forward(tensors.query, tensors.key, tensors.value, {}) - exact).square().mean().item<double>();
  };
  EXPECT_LT(error("features=4096"), error("features=64") / 8);
  EXPECT_LT(error("features=16384"), 2e-3);
  EXPECT_LT(error("features=16384, map=trigonometric"), 1e-2);
}

TEST(PerformerAttention, BlocksOfRowsAreOrthogonal) {
  const at::Tensor rows = random_rows(*performer("features=20", false, 8, at::kDouble));
  EXPECT_EQ(rows.sizes(), at::IntArrayRef({20, 8}));
  for (const std::int64_t first : {0, 8, 16}) {
    const at::Tensor block = rows.narrow(0, first, std::min<std::int64_t>(8, 20 - first));
    const at::Tensor products = at::matmul(block, block.t());
    EXPECT_LT((products - at::diag(products.diagonal())).abs().max().item<double>(), 1e-12);
  }
  EXPECT_NEAR(random_rows(*performer("features=4096", false, 8)).square().mean().item<double>(), 1.0, 0.05);
}

TEST(PerformerAttention, RowsAreSavedAndNotTrained) {
  const auto module = performer("features=16", true);
  EXPECT_EQ(module->parameters().size(), 1);
  EXPECT_FALSE(module->parameters().front().requires_grad());
  EXPECT_EQ(module->spec().parameters, std::vector<std::string>{"projection"});
  const auto seeded = [](const std::string& seed) {
    return random_rows(*performer("features=16, seed=" + seed, true));
  };
  EXPECT_TRUE(at::equal(seeded("7"), seeded("7")));
  EXPECT_FALSE(at::equal(seeded("7"), seeded("8")));
}

/// Two layers, as a model holds them.
struct TwoLayers : torch::nn::Module {
  explicit TwoLayers(const std::string& expression) {
    for (const char* name : {"first", "second"}) {
      MechanismSite site;
      site.heads = 2;
      site.head_dim = 8;
      register_module(name, make_attention(expression, site));
    }
  }
  std::vector<at::Tensor> rows() const {
    return {named_parameters()["first.projection"].clone(), named_parameters()["second.projection"].clone()};
  }
};

TEST(PerformerAttention, RowsAreDrawnAnewOnASchedule) {
  for (const char* expression : {"performer(features=16, redraw=3, seed=1)", "rfa(features=16, redraw=3, seed=1)"}) {
    const auto model = std::make_shared<TwoLayers>(expression);
    const std::vector<at::Tensor> first = model->rows();
    for (const std::int64_t done : {1, 2}) {
      attention::redraw_features(*model, done, 5);
      EXPECT_TRUE(model->rows()[0].equal(first[0])) << done;
    }
    attention::redraw_features(*model, 3, 5);
    const std::vector<at::Tensor> second = model->rows();
    EXPECT_FALSE(second[0].equal(first[0]));
    EXPECT_FALSE(second[0].equal(second[1]));
    attention::redraw_features(*model, 6, 5);
    EXPECT_FALSE(model->rows()[0].equal(second[0]));
    attention::redraw_features(*model, 3, 6);
    EXPECT_FALSE(model->rows()[0].equal(second[0])) << "another run's seed";
    attention::redraw_features(*model, 3, 5);
    EXPECT_TRUE(model->rows()[1].equal(second[1])) << "a function of step, seed and place";
    EXPECT_FALSE(model->parameters().front().requires_grad());
  }
  const auto kept = std::make_shared<TwoLayers>("performer(features=16)");
  const std::vector<at::Tensor> rows = kept->rows();
  attention::redraw_features(*kept, 1000, 5);
  EXPECT_TRUE(kept->rows()[0].equal(rows[0]));
}

TEST(PerformerAttention, RedrawnBlocksAreOrthogonal) {
  const auto model = std::make_shared<TwoLayers>("performer(features=16, redraw=1)");
  attention::redraw_features(*model, 1, 5);
  const at::Tensor block = model->rows()[0].narrow(0, 8, 8).to(at::kDouble);
  const at::Tensor products = at::matmul(block, block.t());
  EXPECT_LT((products - at::diag(products.diagonal())).abs().max().item<double>(), 1e-5);
}

TEST(PerformerAttention, MemoryIsProportionalToTheLength) {
  const auto peak = [](std::int64_t length) {
    const Tensors tensors = random_tensors({1, 1, length, 16});
    const auto module = performer("features=32", true, 16);
    const at::Tensor query = tensors.query.requires_grad_();
    const at::Tensor key = tensors.key.requires_grad_();
    return testing::peak_tensor_bytes([&] { module->forward(query, key, tensors.value, {}).sum().backward(); });
  };
  EXPECT_LT(peak(16384), 4 * peak(4096) + (1 << 20));
}

TEST(PerformerAttention, ErrorsNameTheSetting) {
  EXPECT_EQ(performer("", false)->description(), "performer(features=256)");
  EXPECT_EQ(performer("orthogonal=no, map=trigonometric, features=6, seed=2", false)->description(),
            "performer(features=6, map=trigonometric, orthogonal=no, seed=2)");
  EXPECT_EQ(performer("redraw=100", false)->description(), "performer(features=256, redraw=100)");
  expect_error(ErrorKind::kExpression, {"redraw", "-1"}, [] { performer("redraw=-1", false); });
  expect_error(ErrorKind::kExpression, {"even", "7"}, [] { performer("features=7, map=trigonometric", false); });
  expect_error(ErrorKind::kExpression, {"features", "65536", "0"}, [] { performer("features=0", false); });
  expect_error(ErrorKind::kExpression, {"no setting", "rank"}, [] { performer("rank=4", false); });
  const Tensors tensors = random_tensors({1, 2, 4, 6});
  expect_error(ErrorKind::kArgument, {"8 columns"},
               [&] { performer("", false)->forward(tensors.query, tensors.key, tensors.value, {}); });
}

}  // namespace
}  // namespace weft::test
