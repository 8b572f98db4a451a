// SPDX-License-Identifier: Apache-2.0
// The joint of language, kernel and models: BigBird layers, where keys count as often as they were drawn, against
// transformers (tests/fixtures/make/bigbird_layer.py). The plans come from the fixtures or, for `hf-eval`, from the
// language.
#include <gtest/gtest.h>

#include "attention/joint_layer.h"
#include "weft/pattern/build.h"

namespace weft::attention {
namespace {

/// [H, block rows 1 to last - 1, r] of the fixture as a plan; the first and the last row draw nothing.
pattern::BlockPlan read_plan(const at::Tensor& drawn) {
  pattern::BlockPlan result;
  for (std::int64_t head = 0; head < drawn.size(0); ++head) {
    auto& rows = result.key_blocks.emplace_back();
    rows.emplace_back();
    for (std::int64_t row = 0; row < drawn.size(1); ++row) {
      const at::Tensor blocks = drawn[head][row].contiguous();
      rows.emplace_back(blocks.data_ptr<std::int64_t>(), blocks.data_ptr<std::int64_t>() + blocks.numel());
    }
    rows.emplace_back();
  }
  return result;
}

pattern::NodePtr with_plan(const test::Fixture& fixture) {
  return pattern::block(fixture.integer("block"),
                        pattern::any_of({pattern::parse_node("global(first=1, last=1) | window(3)"),
                                         pattern::plan(read_plan(fixture.tensor("plan")))}));
}

class JointBigBird : public ::testing::TestWithParam<Route> {
 protected:
  static JointLayer layer(const std::string& fixture) { return {fixture, {"query", "key", "value"}, GetParam()}; }

  static void compare_with_plan(const std::string& fixture) {
    const JointLayer built = layer(fixture);
    built.expect_equal(built.attend(pattern::Pattern(with_plan(built.fixture())), built.site()), tolerance());
  }

  /// Log multiplicities are float32 in a layout (2e-8 relative at log 2 and log 3); the rest is float64 on both sides.
  /// In float32 products of width 16 and values up to 4.3 leave about 2e-6.
  static double tolerance() {
    if (!GetParam().path) {
      return 1e-12;  // the oracle is float64 throughout
    }
    return GetParam().dtype == at::kDouble ? 1e-7 : 1e-5;
  }
};

TEST_P(JointBigBird, HfEvalFromTheLanguage) {
  const JointLayer built = layer("joint/bigbird_hf_eval");
  const auto pattern =
      pattern::Pattern::parse("block(4, global(first=1, last=1) | window(3) | random(2, plan=\"hf-eval\"))");
  built.expect_equal(built.attend(pattern, built.site()), tolerance());
}

TEST_P(JointBigBird, HfEvalAsAPlan) { compare_with_plan("joint/bigbird_hf_eval"); }

TEST_P(JointBigBird, GivenBlocksThatOverlapWindowGlobalsAndEachOther) { compare_with_plan("joint/bigbird_overlap"); }

TEST_P(JointBigBird, ReleasedPlanFromTheLanguage) {
  const JointLayer built = layer("joint/bigbird_released");
  pattern::Site site = built.site();
  site.layer = built.fixture().integer("layer");
  site.maximum_length = built.fixture().integer("maximum_length");
  built.expect_equal(built.attend(pattern::Pattern::parse("bigbird"), site), tolerance());
}

TEST_P(JointBigBird, ReleasedPlanAt1024TokensOverlapsToo) { compare_with_plan("joint/bigbird_released"); }

INSTANTIATE_TEST_SUITE_P(Routes, JointBigBird, ::testing::ValuesIn(kRoutes), route_name);

// What the multiplicities are worth: with a plain union instead, outputs are off by far more than any tolerance here.
TEST(JointBigBirdUnion, IsNotWhatTransformersComputes) {
  for (const char* fixture : {"joint/bigbird_hf_eval", "joint/bigbird_overlap"}) {
    const JointLayer built(fixture, {"query", "key", "value"}, kRoutes.front());
    const pattern::Pattern once(pattern::complement(pattern::complement(with_plan(built.fixture()))));
    const at::Tensor output = built.attend(once, built.site()).transpose(1, 2).reshape_as(built.leaf("hidden_states"));
    EXPECT_GT(test::largest_difference(output, built.fixture().tensor("output"), built.fixture().tensor("key_keep")),
              1e-2);
  }
}

}  // namespace
}  // namespace weft::attention
