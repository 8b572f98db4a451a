// SPDX-License-Identifier: Apache-2.0
// Mechanisms beside the programs that people know them from, with the same random rows and learned numbers: outputs and
// gradients in float64. tests/fixtures/make/peer_mechanisms.py names the programs.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/torch_fixture.h"
#include "weft/attention/mechanism.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

using test::Fixture;
using test::largest_difference;

std::vector<std::string> peer_cases() {
  std::vector<std::string> cases = {"joint/performer_lucidrains", "joint/performer_lucidrains_decoder",
                                    "joint/performer_idiap",      "joint/linear_idiap",
                                    "joint/linear_idiap_decoder", "joint/linformer_lucidrains",
                                    "joint/rfa_released",         "joint/rfa_released_many",
                                    "joint/rfa_released_decoder", "joint/rfa_released_masked"};
  if (const char* folder = std::getenv("WEFT_PEER_CASES"); folder != nullptr) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      cases.push_back((entry.path().parent_path() / entry.path().stem()).string());
    }
  }
  return cases;
}

/// Tensors [B, H, N, D] of the fixture, with gradients.
struct Leaves {
  explicit Leaves(const Fixture& fixture)
      : query(fixture.float64("query").requires_grad_()),
        key(fixture.float64("key").requires_grad_()),
        value(fixture.float64("value").requires_grad_()) {}
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
};

std::shared_ptr<AttentionImpl> peer_mechanism(const Fixture& fixture) {
  MechanismSite site;
  const at::Tensor query = fixture.tensor("query");
  site.heads = query.size(1);
  site.head_dim = query.size(3);
  site.causal = fixture.integer("causal") == 1;
  site.maximum_length = fixture.integer("longest");
  const auto module = make_attention(fixture.text("expression"), site, at::kDouble);
  const at::NoGradGuard without_gradients;
  for (const auto& parameter : module->named_parameters()) {
    at::Tensor(parameter.value()).copy_(fixture.float64("parameter." + parameter.key()));
  }
  return module;
}

/// WEFT_PEER_CASES may name a folder of more such files (tests/parity/mechanisms_parity.py).
TEST(JointPeers, OutputsAndGradientsAreTheirs) {
  for (const std::string& name : peer_cases()) {
    const Fixture fixture(name);
    SCOPED_TRACE(concat(name, ": ", fixture.text("expression"), " of ", fixture.text("origin")));
    const Leaves leaves(fixture);
    const auto module = peer_mechanism(fixture);
    AttentionContext context;
    if (fixture.has("key_keep")) {
      context.key_keep = fixture.tensor("key_keep");
    }
    const at::Tensor output = module->forward(leaves.query, leaves.key, leaves.value, context);
    output.backward(fixture.float64("output_gradient"));
    // All are float64, and the sums are in another order; features of queries and keys near e^5 lose two digits.
    EXPECT_LT(largest_difference(output, fixture.tensor("output")), 1e-10);
    EXPECT_LT(largest_difference(leaves.query.grad(), fixture.tensor("query_gradient")), 1e-9);
    EXPECT_LT(largest_difference(leaves.key.grad(), fixture.tensor("key_gradient")), 1e-9);
    EXPECT_LT(largest_difference(leaves.value.grad(), fixture.tensor("value_gradient")), 1e-9);
    for (const auto& parameter : module->named_parameters()) {
      if (const std::string gradient = "parameter." + parameter.key() + "_gradient"; fixture.has(gradient)) {
        EXPECT_LT(largest_difference(parameter.value().grad(), fixture.tensor(gradient)), 1e-9) << parameter.key();
      }
    }
  }
}

}  // namespace
}  // namespace weft::attention
