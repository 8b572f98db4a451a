// SPDX-License-Identifier: Apache-2.0
// `lsh` against the LSH self-attention of transformers (tests/fixtures/make/lsh_layer.py) with its hash seeds: outputs
// and gradients. WEFT_LSH_CASES may name a folder of more such files (tests/parity/lsh_parity.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/torch_fixture.h"
#include "weft/attention/mechanism.h"
#include "weft/core/error.h"

namespace weft::test {
namespace {

std::vector<std::string> released_cases() {
  std::vector<std::string> cases = {"joint/lsh_encoder", "joint/lsh_both_sides", "joint/lsh_decoder",
                                    "joint/lsh_short"};
  if (const char* folder = std::getenv("WEFT_LSH_CASES"); folder != nullptr) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      cases.push_back((entry.path().parent_path() / entry.path().stem()).string());
    }
  }
  return cases;
}

std::string released_expression(const Fixture& fixture) {
  const std::int64_t second = fixture.integer("second_factor");
  return concat("lsh(", fixture.integer("causal") == 1 ? "causal=position, " : "",
                "buckets=", fixture.integer("first_factor"), second > 1 ? concat("x", second) : "",
                ", rounds=", fixture.integer("rounds"), ", chunk=", fixture.integer("chunk"),
                ", right=", fixture.integer("right"), ", seed=", fixture.integer("seed"), ")");
}

TEST(JointLsh, EqualsTransformers) {
  for (const std::string& name : released_cases()) {
    const Fixture fixture(name);
    attention::MechanismSite site;
    site.heads = fixture.integer("heads");
    const auto leaf = [&](const char* tensor) { return fixture.float64(tensor).requires_grad_(); };
    const at::Tensor hidden = leaf("hidden_states");
    const at::Tensor query_key = leaf("query_key.weight");
    const at::Tensor value = leaf("value.weight");
    site.head_dim = query_key.size(0) / site.heads;
    const auto by_head = [&](const at::Tensor& weight) {
      return at::matmul(hidden, weight.t()).unflatten(-1, {site.heads, site.head_dim}).transpose(1, 2);
    };
    const at::Tensor keep = fixture.tensor("key_keep");
    attention::AttentionContext context;
    context.key_keep = keep.all().item<bool>() ? at::Tensor() : keep;
    const auto module = attention::make_attention(released_expression(fixture), site);
    const at::Tensor rows = by_head(query_key);
    const at::Tensor output = module->forward(rows, rows, by_head(value), context).transpose(1, 2).flatten(2);
    output.backward(fixture.float64("output_gradient"));
    SCOPED_TRACE(concat(name, ": ", released_expression(fixture)));
    // float64 on both sides. A log-sum-exp near -1e5, of a row that sees itself alone, is exact to 1.5e-11 only; Weft
    // keeps maximum and sum apart.
    EXPECT_LT(largest_difference(output, fixture.tensor("output"), keep), 1e-10);
    EXPECT_LT(largest_difference(hidden.grad(), fixture.tensor("hidden_states_gradient")), 1e-10);
    EXPECT_LT(largest_difference(query_key.grad(), fixture.tensor("query_key.weight_gradient")), 1e-10);
    EXPECT_LT(largest_difference(value.grad(), fixture.tensor("value.weight_gradient")), 1e-10);
  }
}

}  // namespace
}  // namespace weft::test
