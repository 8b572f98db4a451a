// SPDX-License-Identifier: Apache-2.0
// Scores with products of keys and distances, as DeBERTa has them, against their equation in float64; gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/mechanism_checks.h"
#include "support/torch_fixture.h"
#include "support/torch_gradcheck.h"
#include "weft/attention/mechanisms/relative/relative_product.h"

namespace weft::test {
namespace {

/// A call with both tables, of rows for distances from -3 to 3; farther ones take the row at the end.
attention::RelativeCall call_with_key_distances(const std::vector<at::Tensor>& tensors) {
  const at::Tensor none = at::zeros({2, 3}, at::kDouble);
  return {.query = tensors[0],
          .key = tensors[1],
          .value = tensors[2],
          .distances = tensors[3],
          .content_bias = none,
          .distance_bias = none,
          .nearest = -3,
          .causal = false,
          .key_distances = tensors[4]};
}

std::vector<at::Tensor> tensors_with_key_distances(std::int64_t queries) {
  torch::manual_seed(7);
  return {at::randn({2, 2, queries, 3}, at::kDouble), at::randn({2, 1, 12, 3}, at::kDouble),
          at::randn({2, 1, 12, 3}, at::kDouble), at::randn({2, 7, 3}, at::kDouble), at::randn({2, 7, 3}, at::kDouble)};
}

TEST(RelativeAttention, KeysHaveProductsWithDistancesToo) {
  for (const std::int64_t queries : {12, 5, 1}) {
    const std::vector<at::Tensor> tensors = tensors_with_key_distances(queries);
    attention::RelativeCall call = call_with_key_distances(tensors);
    call.keep = at::ones({2, 12}, at::TensorOptions(at::kBool));
    call.keep[1].narrow(0, 8, 4).fill_(false);
    at::Tensor scores = at::zeros({2, 2, queries, 12}, at::kDouble);
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < 12; ++j) {
        const std::int64_t row = std::clamp<std::int64_t>(i - j, -3, 3) + 3;
        const at::Tensor query = tensors[0].select(2, i);
        const at::Tensor key = tensors[1].select(2, j);
        const at::Tensor pair = query * key + query * tensors[3].select(1, row) + key * tensors[4].select(1, row);
        scores.select(2, i).select(2, j).copy_(pair.sum(-1) / std::sqrt(3.0));
      }
    }
    scores.masked_fill_(call.keep.logical_not().view({2, 1, 1, 12}), -std::numeric_limits<double>::infinity());
    EXPECT_LT(largest_difference(attention::relative_attention(call), at::matmul(scores.softmax(-1), tensors[2])),
              1e-12);
  }
}

TEST(RelativeAttention, GradientsReachTheRowsThatKeysAreMultipliedBy) {
  const testing::TensorFunction output = [](const std::vector<at::Tensor>& tensors) {
    return attention::relative_attention(call_with_key_distances(tensors));
  };
  testing::expect_gradients(output, tensors_with_key_distances(7));
}

}  // namespace
}  // namespace weft::test
