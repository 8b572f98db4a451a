// SPDX-License-Identifier: Apache-2.0
// What `global_local` says about itself and refuses; sums of half types; memory. The equations of its rows are in
// tests/layers/global_local_attention_test.cpp, those of a whole model in tests/models/etc_model_test.cpp.
#include <gtest/gtest.h>

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <memory>
#include <string>

#include "support/expect_error.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/etc/etc_structure.h"
#include "weft/attention/profile/attention_observer.h"

namespace weft::attention {
namespace {

std::shared_ptr<AttentionImpl> etc_module(const std::string& expression, at::ScalarType type) {
  MechanismSite site;
  site.heads = 2;
  site.head_dim = 16;
  return make_attention(expression, site, at::TensorOptions(type));
}

AttentionContext with_globals(std::int64_t count) {
  AttentionContext context;
  context.companions = count;
  return context;
}

TEST(EtcAttention, SaysWhatItIs) {
  const MechanismSpec spec = parse_mechanism("global_local(hard=both)");
  EXPECT_EQ(spec.description, "global_local(radius=84, distance=12, hard=both)");
  EXPECT_EQ(parse_mechanism(spec.description).description, spec.description);
  EXPECT_EQ(parse_mechanism("global_local").description, "global_local(radius=84, distance=12, hard=none)");
  EXPECT_TRUE(spec.companions);
  EXPECT_NE(why_not_observed(spec).find("global tokens"), std::string::npos);
  MechanismSite site;
  // Each token and 169 others, and 28 labels: products of 64 columns, twice for scores and values.
  EXPECT_EQ(forward_operations(spec, site, 1000), 2.0 * 1000 * 64 * (2 * 169 + 28));
  site.causal = true;
  test::expect_error(ErrorKind::kArgument, {"global_local", "decoder", "global tokens see the whole text"},
                     [&] { at_site(spec, site); });
  test::expect_error(ErrorKind::kExpression, {"hard", "'all'"}, [] { parse_mechanism("global_local(hard=all)"); });
  test::expect_error(ErrorKind::kExpression, {"radius"}, [] { parse_mechanism("global_local(radius=0)"); });
  test::expect_error(ErrorKind::kExpression, {"'window'"}, [] { parse_mechanism("global_local(window=3)"); });
}

TEST(EtcAttention, RefusesACallWithoutGlobalTokens) {
  const auto module = etc_module("global_local", at::kFloat);
  const at::Tensor rows = at::ones({1, 2, 9, 16});
  test::expect_error(ErrorKind::kArgument, {"global tokens", "found 0"},
                     [&] { module->forward(rows, rows, rows, {}); });
  test::expect_error(ErrorKind::kArgument, {"found 9 global tokens"},
                     [&] { module->forward(rows, rows, rows, with_globals(9)); });
  AttentionContext context = with_globals(2);
  const auto structure = std::make_shared<EtcStructure>();
  structure->sentence = at::zeros({1, 9}, at::kLong);
  context.structure = structure;
  test::expect_error(ErrorKind::kArgument, {"sentence numbers", "[1, 7]", "[1, 9]"},
                     [&] { module->forward(rows, rows, rows, context); });
}

// Weights of about 1,000 keys, each far below the last bit of bfloat16: their sum is 1 only where it is kept in
// float32.
TEST(EtcAttention, SumsOfBfloat16AreKeptInFloat32) {
  at::manual_seed(8);
  const auto module = etc_module("global_local(radius=512)", at::kBFloat16);
  const at::NoGradGuard without_gradients;
  const at::Tensor query = at::randn({1, 2, 3 + 1024, 16}).to(at::kBFloat16);
  const at::Tensor ones = at::ones(query.sizes(), query.options());
  const at::Tensor output = module->forward(query, query, ones, with_globals(3));
  EXPECT_EQ(output.scalar_type(), at::kBFloat16);
  EXPECT_LT((output.to(at::kFloat) - 1).abs().max().item<double>(), 0.004);
}

TEST(EtcAttention, MemoryFollowsTheLength) {
  const auto module = etc_module("global_local(radius=16)", at::kFloat);
  const auto peak = [&](std::int64_t length) {
    const at::Tensor rows = at::randn({1, 2, 8 + length, 16}).requires_grad_();
    return testing::peak_tensor_bytes([&] { module->forward(rows, rows, rows, with_globals(8)).sum().backward(); });
  };
  peak(1024);  // what is made once
  EXPECT_LT(static_cast<double>(peak(16384)), 2.2 * static_cast<double>(peak(8192)));
}

}  // namespace
}  // namespace weft::attention
