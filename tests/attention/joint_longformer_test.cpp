// SPDX-License-Identifier: Apache-2.0
// The joint of language, kernel and models: a Longformer self-attention layer from `window | global(input)`, global
// positions that differ by batch row and global projections, against transformers
// (tests/fixtures/make/longformer_layer.py).
#include <gtest/gtest.h>

#include "attention/joint_layer.h"
#include "weft/attention/global_projection.h"

namespace weft::attention {
namespace {

const std::vector<std::string> kProjections = {"query", "key", "value", "query_global", "key_global", "value_global"};

class JointLongformer : public ::testing::TestWithParam<Route> {
 protected:
  JointLongformer() : layer_("joint/longformer_layer", kProjections, GetParam()) {
    const at::Tensor is_global = layer_.fixture().tensor("is_global");
    for (std::int64_t row = 0; row < is_global.size(0); ++row) {
      const at::Tensor positions = is_global[row].nonzero().flatten();
      rows_.push_back(
          {{positions.data_ptr<std::int64_t>(), positions.data_ptr<std::int64_t>() + positions.numel()}, {}, {}});
    }
  }

  GlobalProjection global_projection() const {
    return {linear("query_global"), linear("key_global"), linear("value_global"), layer_.heads()};
  }

  LinearWeights linear(const std::string& name) const {
    return {layer_.leaf(name + ".weight"), layer_.leaf(name + ".bias")};
  }

  void run_and_compare(const std::string& expression) {
    const at::Tensor local = layer_.attend(pattern::Pattern::parse(expression), layer_.site(), rows_);
    layer_.expect_equal(
        with_global_rows(local, layer_.leaf("hidden_states"), rows_, global_projection(), layer_.options()),
        tolerance());
  }

  /// float64 on both sides: sums of up to 45 products of values up to 6. In float32 the projections alone leave about
  /// 2e-6.
  static double tolerance() { return GetParam().dtype == at::kDouble ? 1e-12 : 1e-5; }

  JointLayer layer_;
  std::vector<pattern::RowBinding> rows_;
};

TEST_P(JointLongformer, EqualsTransformers) { run_and_compare("window(8) | global(input)"); }

// The rows of global positions are replaced, so that only the half that other tokens see has to be computed.
TEST_P(JointLongformer, KeysSideIsEnough) { run_and_compare("window(8) | global(input, side=keys)"); }

// Padding as rows of their own lengths instead of a mask of keys.
TEST_P(JointLongformer, RowLengthsInsteadOfAMask) {
  const at::Tensor lengths = layer_.fixture().tensor("key_keep").sum(1);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    rows_[row].query_length = rows_[row].key_length = lengths[static_cast<std::int64_t>(row)].item<std::int64_t>();
  }
  layer_.options().key_keep = at::Tensor();
  run_and_compare("window(8) | global(input)");
}

INSTANTIATE_TEST_SUITE_P(Routes, JointLongformer, ::testing::ValuesIn(kRoutes), route_name);

}  // namespace
}  // namespace weft::attention
