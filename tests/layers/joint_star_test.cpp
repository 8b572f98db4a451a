// SPDX-License-Identifier: Apache-2.0
// Star-Transformer beside fastNLP (tests/fixtures/make/star_layer.py): satellites, relay and all gradients in float64.
#include <gtest/gtest.h>

#include <torch/csrc/autograd/autograd.h>

#include "support/layers/star_transformer.h"
#include "support/torch_fixture.h"

namespace weft::test {
namespace {

TEST(JointStar, EqualsFastNlp) {
  const Fixture fixture("joint/star_layers");
  const at::Tensor embeddings = fixture.float64("embeddings").requires_grad_();
  testing::StarTransformer model(testing::StarConfig{.hidden_size = embeddings.size(2),
                                                     .heads = fixture.integer("heads"),
                                                     .head_dim = fixture.integer("head_dim"),
                                                     .layers = fixture.integer("layers")},
                                 at::TensorOptions(at::kDouble));
  for (auto& parameter : model->named_parameters()) {
    const at::NoGradGuard without_gradients;
    parameter.value().copy_(fixture.float64("parameter." + parameter.key()));
  }
  const testing::StarNodes nodes = model->forward(embeddings);
  // Sums of float64 in another order.
  EXPECT_LT(largest_difference(nodes.satellites, fixture.tensor("satellites")), 1e-12);
  EXPECT_LT(largest_difference(nodes.relay, fixture.tensor("relay")), 1e-12);
  torch::autograd::backward({nodes.satellites, nodes.relay},
                            {fixture.float64("satellites_gradient"), fixture.float64("relay_gradient")});
  EXPECT_LT(largest_difference(embeddings.grad(), fixture.tensor("embeddings_gradient")), 1e-11);
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_LT(
        largest_difference(parameter.value().grad(), fixture.tensor("parameter." + parameter.key() + "_gradient")),
        1e-11)
        << parameter.key();
  }
}

}  // namespace
}  // namespace weft::test
