// SPDX-License-Identifier: Apache-2.0
// Nystrom attention, and Linformer behind it, against their equations in float64; Nystrom against the self-attention of
// Nystromformer in transformers (tests/fixtures/make/nystrom_layer.py); texts as long as their landmarks; rows of a
// batch; memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ops/linear.h>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_fixture.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/nystrom/token_convolution.h"
#include "weft/core/error.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::make_attention;
using attention::MechanismSite;

std::shared_ptr<attention::AttentionImpl> nystrom(const std::string& settings,
                                                  const at::TensorOptions& options = at::kDouble) {
  at::manual_seed(3);
  MechanismSite site;
  site.heads = 2;
  site.head_dim = 8;
  return make_attention("nystrom(" + settings + ")", site, options);
}

double nystrom_gap(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

/// softmax(x y^T / sqrt(D)).
at::Tensor pairs(const at::Tensor& x, const at::Tensor& y) {
  return at::softmax(at::matmul(x, y.transpose(-2, -1)) / std::sqrt(static_cast<double>(x.size(-1))), -1);
}

/// Means of stretches from floor(i n / l), rounded up, on.
at::Tensor landmarks(const at::Tensor& x, std::int64_t count) {
  std::vector<at::Tensor> means;
  const std::int64_t length = x.size(2);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = (i * length + count - 1) / count;
    const std::int64_t end = ((i + 1) * length + count - 1) / count;
    means.push_back(x.narrow(2, first, end - first).mean(2));
  }
  return at::stack(means, 2);
}

/// Every row of every column of the values beside its neighbours.
at::Tensor convolved(const at::Tensor& value, const at::Tensor& weights) {
  at::Tensor sum = at::zeros_like(value);
  const std::int64_t length = value.size(2);
  for (std::int64_t i = 0; i < weights.size(1); ++i) {
    const std::int64_t shift = i - weights.size(1) / 2;  // of the row that is taken
    const std::int64_t count = length - std::abs(shift);
    if (count > 0) {
      sum.narrow(2, std::max<std::int64_t>(-shift, 0), count) +=
          value.narrow(2, std::max<std::int64_t>(shift, 0), count) * weights.select(1, i).view({-1, 1, 1});
    }
  }
  return sum;
}

// Xiong et al. 2021, equations 8 and 11 and algorithm 1; `divisor` as in section 3.2 of the released program or alone.
at::Tensor nystrom_equations(const Tensors& tensors, const at::Tensor& weights, std::int64_t count, bool exact) {
  const at::Tensor query_marks = landmarks(tensors.query, count);
  const at::Tensor key_marks = landmarks(tensors.key, count);
  const at::Tensor a = pairs(query_marks, key_marks);
  const at::Tensor sums = a.sum(-2, true);
  at::Tensor z = a.transpose(-2, -1) / (exact ? sums.amax(-1, true) : sums.max());
  const at::Tensor one = at::eye(count, at::kDouble);
  for (int i = 0; i < 6; ++i) {
    const at::Tensor az = at::matmul(a, z);
    z = at::matmul(z, 13 * one - at::matmul(az, 15 * one - at::matmul(az, 7 * one - az))) / 4;
  }
  const at::Tensor mixed = at::matmul(z, at::matmul(pairs(query_marks, tensors.key), tensors.value));
  return at::matmul(pairs(tensors.query, key_marks), mixed) + convolved(tensors.value, weights);
}

TEST(NystromAttention, EqualsTheEquations) {
  for (const bool exact : {true, false}) {
    const auto module = nystrom(exact ? "landmarks=6, conv=5" : "landmarks=6, conv=5, init=released");
    const at::Tensor weights = module->parameters().front();
    for (const std::int64_t length : {7, 12, 65, 131}) {
      const Tensors tensors = random_tensors({3, 2, length, 8}, at::kDouble);
      const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
      EXPECT_LT(nystrom_gap(output, nystrom_equations(tensors, weights, 6, exact)), 1e-10) << length;
    }
  }
}

TEST(NystromAttention, ATextOfItsLandmarksIsSoftmax) {
  const auto module = nystrom("landmarks=12, conv=0");
  for (const std::int64_t length : {1, 5, 12}) {
    const Tensors tensors = random_tensors({2, 2, length, 8}, at::kDouble);
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
    EXPECT_LT(nystrom_gap(output, at::matmul(pairs(tensors.query, tensors.key), tensors.value)), 1e-12);
  }
}

TEST(NystromAttention, RowsOfABatchAreCoupledOnlyAsReleased) {
  const Tensors tensors = random_tensors({2, 2, 60, 8}, at::kDouble);
  const Tensors peaked{tensors.query * 6, tensors.key * 6, tensors.value};
  const auto released = nystrom("landmarks=6, init=released");
  for (const char* guess : {"exact", "text", "released"}) {
    const bool is_released = std::string(guess) == "released";
    const auto module = nystrom(concat("landmarks=6, init=", guess));
    module->named_parameters()["convolution"].detach().copy_(released->named_parameters()["convolution"]);
    const at::Tensor both = module->forward(peaked.query, peaked.key, peaked.value, {});
    double gap = 0;
    for (const std::int64_t row : {0, 1}) {
      const at::Tensor alone = module->forward(peaked.query.narrow(0, row, 1), peaked.key.narrow(0, row, 1),
                                               peaked.value.narrow(0, row, 1), {});
      gap = std::max(gap, nystrom_gap(alone[0], both[row]));
      // What released programs compute for a text alone is what `text` computes in any batch.
      const at::Tensor as_released = released->forward(peaked.query.narrow(0, row, 1), peaked.key.narrow(0, row, 1),
                                                       peaked.value.narrow(0, row, 1), {});
      EXPECT_EQ(std::string(guess) != "exact", nystrom_gap(alone, as_released) < 1e-12) << guess;
    }
    EXPECT_EQ(is_released, gap > 1e-12) << guess << ' ' << gap;
  }
}

// In float32 by the kernel, forwards and backwards; in float64 by LibTorch. The values are columns of a wider tensor.
TEST(NystromAttention, TheConvolutionOfTheKernelIsLibTorchs) {
  for (const std::int64_t taps : {1, 5, 65, 131}) {
    for (const std::int64_t length : {1, 9, 64, 150}) {
      at::manual_seed(7);
      const at::Tensor wide = at::randn({2, length, 2, 24});
      const at::Tensor weights = at::randn({2, taps}) / std::sqrt(static_cast<double>(taps));
      const at::Tensor direction = at::randn({2, 2, length, 8});
      const auto computed = [&](at::ScalarType type) {
        const at::Tensor values = wide.to(type).transpose(1, 2).narrow(3, 8, 8).detach().requires_grad_();
        const at::Tensor taps_of_type = weights.to(type).detach().requires_grad_();
        const at::Tensor base = wide.to(type).transpose(1, 2).narrow(3, 16, 8).detach().requires_grad_();
        const at::Tensor output = attention::add_convolution(base, values, taps_of_type);
        (output * direction.to(type)).sum().backward();
        return std::vector<at::Tensor>{output.detach(), values.grad(), taps_of_type.grad(), base.grad()};
      };
      const std::vector<at::Tensor> exact = computed(at::kDouble);
      const std::vector<at::Tensor> found = computed(at::kFloat);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        // Sums of 2,400 products of normal numbers in float32.
        EXPECT_LT(nystrom_gap(found[i].to(at::kDouble), exact[i]), 2e-4) << i << ": " << taps << " of " << length;
      }
      const at::Tensor own = found[0].new_zeros(found[0].sizes());
      EXPECT_TRUE(at::equal(attention::add_convolution(own, wide.transpose(1, 2).narrow(3, 8, 8), weights), own));
    }
  }
}

TEST(NystromAttention, MemoryIsProportionalToTheLength) {
  const auto peak = [](std::int64_t length) {
    const Tensors tensors = random_tensors({1, 2, length, 8});
    const auto module = nystrom("landmarks=16, conv=0", at::kFloat);  // oneDNN's buffers cannot be counted
    const at::Tensor query = tensors.query.requires_grad_();
    const at::Tensor key = tensors.key.requires_grad_();
    return testing::peak_tensor_bytes([&] { module->forward(query, key, tensors.value, {}).sum().backward(); });
  };
  EXPECT_LT(peak(16384), 4 * peak(4096) + (1 << 20));
}

std::vector<std::string> nystrom_cases() {
  std::vector<std::string> cases = {"joint/nystrom_landmarks", "joint/nystrom_one_row_a_landmark",
                                    "joint/nystrom_released"};
  if (const char* folder = std::getenv("WEFT_NYSTROM_CASES"); folder != nullptr) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      cases.push_back((entry.path().parent_path() / entry.path().stem()).string());
    }
  }
  return cases;
}

/// Outputs and gradients. WEFT_NYSTROM_CASES may name a folder of more such files (tests/parity/nystrom_parity.py).
TEST(JointNystrom, EqualsTransformers) {
  for (const std::string& name : nystrom_cases()) {
    const Fixture fixture(name);
    const auto leaf = [&](const std::string& tensor) { return fixture.float64(tensor).requires_grad_(); };
    const at::Tensor hidden = leaf("hidden_states");
    MechanismSite site;
    site.heads = fixture.integer("heads");
    site.head_dim = hidden.size(2) / site.heads;
    const auto by_head = [&](const at::Tensor& weight, const std::string& part) {
      return at::linear(hidden, weight, fixture.float64(part + ".bias"))
          .unflatten(-1, {site.heads, site.head_dim})
          .transpose(1, 2);
    };
    const std::string expression = concat("nystrom(landmarks=", fixture.integer("landmarks"),
                                          ", init=released, conv=", fixture.integer("kernel"), ")");
    SCOPED_TRACE(concat(name, ": ", expression));
    const auto module = make_attention(expression, site, at::kDouble);
    at::Tensor convolution = module->named_parameters()["convolution"];
    convolution.detach().copy_(fixture.float64("convolution"));
    const at::Tensor query = leaf("query.weight");
    const at::Tensor key = leaf("key.weight");
    const at::Tensor value = leaf("value.weight");
    const at::Tensor output =
        module->forward(by_head(query, "query"), by_head(key, "key"), by_head(value, "value"), {});
    const at::Tensor joined = output.transpose(1, 2).flatten(2);
    joined.backward(fixture.float64("output_gradient"));
    EXPECT_LT(largest_difference(joined, fixture.tensor("output")), 1e-10);
    // Both are float64; six steps of the inverse multiply what was rounded.
    EXPECT_LT(largest_difference(hidden.grad(), fixture.tensor("hidden_states_gradient")), 1e-9);
    EXPECT_LT(largest_difference(query.grad(), fixture.tensor("query.weight_gradient")), 1e-9);
    EXPECT_LT(largest_difference(key.grad(), fixture.tensor("key.weight_gradient")), 1e-9);
    EXPECT_LT(largest_difference(value.grad(), fixture.tensor("value.weight_gradient")), 1e-9);
    EXPECT_LT(largest_difference(convolution.grad(), fixture.tensor("convolution_gradient")), 1e-9);
  }
}

TEST(NystromAttention, ErrorsNameTheSetting) {
  EXPECT_EQ(nystrom("")->description(), "nystrom(landmarks=64, iterations=6, conv=65)");
  EXPECT_EQ(nystrom("init=released, conv=0")->description(),
            "nystrom(landmarks=64, init=released, iterations=6, conv=0)");
  EXPECT_EQ(nystrom("init=text")->description(), "nystrom(landmarks=64, init=text, iterations=6, conv=65)");
  expect_error(ErrorKind::kExpression, {"odd", "64"}, [] { nystrom("conv=64"); });
  expect_error(ErrorKind::kExpression, {"init", "exact", "fast"}, [] { nystrom("init=fast"); });
  MechanismSite site;
  site.causal = true;
  expect_error(ErrorKind::kArgument, {"nystrom", "landmarks are means over the whole text"},
               [&] { make_attention("nystrom", site); });
  expect_error(ErrorKind::kArgument, {"nystrom", "convolution sees tokens on both sides"},
               [&] { make_attention("nystrom(landmarks=0)", site); });
  const Tensors tensors = random_tensors({1, 2, 9, 8}, at::kDouble);
  expect_error(ErrorKind::kArgument, {"same text"},
               [&] { nystrom("")->forward(tensors.query.narrow(2, 0, 3), tensors.key, tensors.value, {}); });
}

constexpr std::int64_t kLongestText = 40;

MechanismSite linformer_site(std::int64_t layer = 0, std::int64_t longest = kLongestText) {
  MechanismSite site;
  site.heads = 2;
  site.head_dim = 8;
  site.layer = layer;
  site.maximum_length = longest;
  return site;
}

std::shared_ptr<attention::AttentionImpl> linformer(const std::string& settings, std::int64_t layer = 0) {
  at::manual_seed(3);
  return make_attention("linformer(" + settings + ")", linformer_site(layer), at::kDouble);
}

// Wang et al. 2020, equation 7, with the first columns of E and F.
at::Tensor linformer_equations(const Tensors& tensors, const at::Tensor& e, const at::Tensor& f) {
  const std::int64_t length = tensors.key.size(2);
  const at::Tensor keys = at::matmul(e.narrow(2, 0, length), tensors.key);
  const at::Tensor values = at::matmul(f.narrow(2, 0, length), tensors.value);
  return at::matmul(at::softmax(at::matmul(tensors.query, keys.transpose(2, 3)) / std::sqrt(8.0), -1), values);
}

double linformer_gap(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(LinformerAttention, EqualsTheEquationsInEverySharing) {
  for (const std::string sharing : {"none", "heads", "keys", "layers"}) {
    const auto module = linformer("rank=6, share=" + sharing);
    const auto learned = module->named_parameters();
    EXPECT_EQ(learned.size(), sharing == "none" || sharing == "heads" ? 2 : 1);
    const at::Tensor e = learned["key_projection"];
    EXPECT_EQ(e.sizes(), at::IntArrayRef({sharing == "none" ? 2 : 1, 6, kLongestText}));
    const at::Tensor* f = learned.find("value_projection");
    for (const std::int64_t length : {std::int64_t{1}, std::int64_t{5}, std::int64_t{33}, kLongestText}) {
      const Tensors tensors = random_tensors({3, 2, length, 8}, at::kDouble);
      const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
      EXPECT_LT(linformer_gap(output, linformer_equations(tensors, e, f == nullptr ? e : *f)), 1e-12) << sharing;
    }
  }
}

// fairseq: rows of inputs are summed, projected, and get the bias behind; without one that is the same.
TEST(LinformerAttention, SumsOfInputsAreSumsOfKeysWithoutABias) {
  const auto module = linformer("rank=6, share=keys");
  const at::Tensor e = module->named_parameters()["key_projection"];
  const at::Tensor x = at::randn({1, 2, 20, 8}, at::kDouble);
  const at::Tensor weight = at::randn({8, 8}, at::kDouble);
  const at::Tensor inputs_first = at::matmul(at::matmul(e.narrow(2, 0, 20), x), weight);
  const at::Tensor expected =
      at::matmul(at::softmax(at::matmul(x, inputs_first.transpose(2, 3)) / std::sqrt(8.0), -1), inputs_first);
  const at::Tensor keys = at::matmul(x, weight);
  EXPECT_LT(linformer_gap(module->forward(x, keys, keys, {}), expected), 1e-12);
}

TEST(LinformerAttention, LayersTakeTheMatrixOfTheFirst) {
  const auto first = linformer("rank=6, share=layers");
  const auto second = linformer("rank=6, share=layers", 1);
  const Tensors tensors = random_tensors({1, 2, 20, 8}, at::kDouble);
  expect_error(ErrorKind::kArgument, {"layer 1", "not given"},
               [&] { second->forward(tensors.query, tensors.key, tensors.value, {}); });
  second->share(*first);
  EXPECT_TRUE(second->parameters().empty());
  EXPECT_EQ(second->shared_parameters().size(), 1);
  EXPECT_TRUE(at::equal(first->forward(tensors.query, tensors.key, tensors.value, {}),
                        second->forward(tensors.query, tensors.key, tensors.value, {})));
  expect_error(ErrorKind::kArgument, {"layer 0", "rank=4"},
               [&] { linformer("rank=6, share=layers", 1)->share(*linformer("rank=4, share=layers")); });
}

TEST(LinformerAttention, FirstNumbersHaveThePublishedRange) {
  const auto largest = [](const std::string& settings) {
    return linformer(settings)->parameters().front().abs().max().item<double>();
  };
  EXPECT_NEAR(largest("rank=8"), std::sqrt(3.0 / (kLongestText + 8)), 0.02);
  EXPECT_NEAR(largest("rank=8, init=lucidrains"), 1 / std::sqrt(8.0), 0.02);
}

TEST(LinformerAttention, DropoutFollowsTheSeedOfTheCall) {
  MechanismSite site = linformer_site();
  site.dropout = 0.5;
  const auto module = make_attention("linformer(rank=6)", site, at::kDouble);
  const Tensors tensors = random_tensors({1, 2, 20, 8}, at::kDouble);
  const auto output = [&](std::uint64_t seed, bool training) {
    module->train(training);
    attention::AttentionContext context;
    context.seed = seed;
    return module->forward(tensors.query, tensors.key, tensors.value, context);
  };
  EXPECT_TRUE(at::equal(output(1, true), output(1, true)));
  EXPECT_FALSE(at::equal(output(1, true), output(2, true)));
  EXPECT_TRUE(at::equal(output(1, false), output(2, false)));
}

TEST(LinformerAttention, MemoryIsProportionalToTheLength) {
  const auto peak = [](std::int64_t length) {
    const Tensors tensors = random_tensors({1, 2, length, 8});
    const auto module = make_attention("linformer(rank=16)", linformer_site(0, 16384));
    const at::Tensor query = tensors.query.requires_grad_();
    const at::Tensor key = tensors.key.requires_grad_();
    return testing::peak_tensor_bytes([&] { module->forward(query, key, tensors.value, {}).sum().backward(); });
  };
  EXPECT_LT(peak(16384), 4 * peak(4096) + (1 << 20));
}

TEST(LinformerAttention, ErrorsNameTheSetting) {
  EXPECT_EQ(linformer("")->description(), "linformer(rank=256)");
  EXPECT_EQ(linformer("init=lucidrains, share=none, rank=2")->description(),
            "linformer(rank=2, share=none, init=lucidrains)");
  expect_error(ErrorKind::kExpression, {"share", "heads", "all"}, [] { linformer("share=all"); });
  expect_error(ErrorKind::kExpression, {"rank", "16384", "0"}, [] { linformer("rank=0"); });
  MechanismSite site = linformer_site();
  site.causal = true;
  expect_error(ErrorKind::kArgument, {"linformer", "sum over the whole text"},
               [&] { make_attention("linformer", site); });
  expect_error(ErrorKind::kArgument, {"longest text"}, [] { make_attention("linformer", linformer_site(0, 0)); });
  expect_error(ErrorKind::kArgument, {"share=heads"},
               [] { make_attention("linformer(rank=16384)", linformer_site(0, std::int64_t{1} << 30)); });
  const Tensors tensors = random_tensors({1, 2, kLongestText + 1, 8}, at::kDouble);
  expect_error(ErrorKind::kArgument, {"40 positions", "41 tokens"},
               [&] { linformer("")->forward(tensors.query, tensors.key, tensors.value, {}); });
}

}  // namespace
}  // namespace weft::test
