// SPDX-License-Identifier: Apache-2.0
// The operator as LibTorch's dispatcher knows it: found by its name, differentiable, traced by shapes, autocast; and
// layouts that come as tensors from anywhere.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "weft/attention/operator/layout_tensors.h"
#include "weft/attention/operator/operator.h"

namespace weft::test {
namespace {

using attention::LayoutTensors;

constexpr double kScale = 0.25;

at::Tensor dispatched(const Tensors& tensors, const LayoutTensors& layout, const char* path = "auto") {
  return std::get<0>(attention::forward_operator().call(
      tensors.query, tensors.key, tensors.value, std::nullopt, layout.tensors, layout.sizes, kScale, 0.0, 0, path,
      std::nullopt, 0, std::nullopt, std::nullopt, std::nullopt, false, false, 2));
}

// The same numbers in memory of their own: what a caller from elsewhere would pass.
LayoutTensors copied(LayoutTensors layout) {
  for (at::Tensor& tensor : layout.tensors) {
    tensor = tensor.clone();
  }
  return layout;
}

TEST(Dispatcher, KnowsBothOperators) {
  for (const char* name : {"weft::attention", "weft::attention_backward"}) {
    const auto found = c10::Dispatcher::singleton().findSchema({name, ""});
    ASSERT_TRUE(found.has_value()) << name;
    EXPECT_TRUE(found->hasKernelForDispatchKey(c10::DispatchKey::Meta)) << name;
  }
  const auto forward = c10::Dispatcher::singleton().findSchemaOrThrow("weft::attention", "");
  for (const c10::DispatchKey key : {c10::DispatchKey::Autograd, c10::DispatchKey::AutocastCPU}) {
    EXPECT_TRUE(forward.hasKernelForDispatchKey(key)) << c10::toString(key);
  }
}

TEST(Dispatcher, ALayoutGoesThroughTensorsAndBack) {
  const auto layout = layout_of("window(9) | global(3)", 150, 2);
  const LayoutTensors tensors = attention::to_tensors(layout);
  EXPECT_EQ(attention::from_tensors(tensors.tensors, tensors.sizes), layout);
  const LayoutTensors foreign = copied(tensors);
  const auto copy = attention::from_tensors(foreign.tensors, foreign.sizes);
  EXPECT_NE(copy, layout);
  EXPECT_EQ(copy->blocks().group_edges, layout->blocks().group_edges);
  EXPECT_EQ(copy->blocks().mask_bits, layout->blocks().mask_bits);
}

TEST(Dispatcher, TensorsKeepTheirLayoutAlive) {
  LayoutTensors tensors = attention::to_tensors(layout_of("window(5)", 70, 2));
  const auto layout = attention::from_tensors(tensors.tensors, tensors.sizes);
  EXPECT_EQ(layout->blocks().key_length, 70);
}

TEST(Dispatcher, ForeignLayoutsGiveTheSameResults) {
  Tensors tensors = random_tensors({2, 2, 150, 8});
  tensors.key.requires_grad_();
  const LayoutTensors own = attention::to_tensors(layout_of("bigbird(block=16, random=1)", 150, 2));
  const at::Tensor expected = dispatched(tensors, own);
  const at::Tensor found = dispatched(tensors, copied(own));
  EXPECT_TRUE(at::equal(found, expected));
  const auto gradient = [&](const at::Tensor& output) {
    return torch::autograd::grad({output.square().sum()}, {tensors.key})[0];
  };
  EXPECT_TRUE(at::equal(gradient(found), gradient(expected)));
}

TEST(Dispatcher, PathsHaveNames) {
  const Tensors tensors = random_tensors({1, 2, 70, 8});
  const LayoutTensors layout = attention::to_tensors(layout_of("window(9)", 70, 2));
  const at::Tensor expected = dispatched(tensors, layout);
  EXPECT_TRUE(at::allclose(dispatched(tensors, layout, "portable"), expected, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(dispatched(tensors, layout, "scalar"), expected, 1e-5, 1e-6));
  expect_error(ErrorKind::kArgument, {"path must be one of auto, fused", "\"flash\""},
               [&] { dispatched(tensors, layout, "flash"); });
}

TEST(Dispatcher, MetaTensorsGiveShapes) {
  const Tensors tensors = random_tensors({2, 4, 70, 8});
  const auto meta = [](const at::Tensor& tensor) { return tensor.to(at::kMeta); };
  const LayoutTensors layout = attention::to_tensors(layout_of("window(9)", 70, 4));
  const auto [output, log_sum_exp] = attention::forward_operator().call(
      meta(tensors.query), meta(tensors.key), meta(tensors.value), std::nullopt, layout.tensors, layout.sizes, kScale,
      0.0, 0, "auto", std::nullopt, 0, std::nullopt, std::nullopt, std::nullopt, false, false, 2);
  EXPECT_TRUE(output.is_meta());
  EXPECT_EQ(output.sizes(), tensors.query.sizes());
  EXPECT_EQ(log_sum_exp.sizes(), at::IntArrayRef({2, 4, 70}));
}

TEST(Dispatcher, AutocastCastsWhatItIsGiven) {
  const Tensors tensors = random_tensors({1, 2, 70, 8});
  const LayoutTensors layout = attention::to_tensors(layout_of("window(9)", 70, 2));
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor output = dispatched(tensors, layout);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
  EXPECT_EQ(output.scalar_type(), at::kBFloat16);
}

// One array or size of a good layout replaced by a bad one.
void expect_refused(std::initializer_list<std::string_view> words, const std::function<void(LayoutTensors&)>& damage) {
  const Tensors tensors = random_tensors({1, 2, 150, 8});
  LayoutTensors layout = copied(attention::to_tensors(layout_of("window(9) | global(3)", 150, 2)));
  damage(layout);
  expect_error(ErrorKind::kArgument, words, [&] { dispatched(tensors, layout); });
}

TEST(Dispatcher, HostileLayoutsAreErrors) {
  expect_refused({"6 tensors", "found 5"}, [](LayoutTensors& layout) { layout.tensors.pop_back(); });
  expect_refused({"group", "Int"}, [](LayoutTensors& layout) { layout.tensors[0] = layout.tensors[0].to(at::kLong); });
  expect_refused({"group names a group"}, [](LayoutTensors& layout) { layout.tensors[0][1] = 7; });
  expect_refused({"row_begin must rise"}, [](LayoutTensors& layout) { layout.tensors[1][1] = 1 << 20; });
  expect_refused({"row_begin must have"},
                 [](LayoutTensors& layout) { layout.tensors[1] = layout.tensors[1].slice(0, 0, 2).clone(); });
  expect_refused({"key_block names a block beyond"}, [](LayoutTensors& layout) { layout.tensors[2][0] = 3; });
  expect_refused({"key_block names a block beyond"}, [](LayoutTensors& layout) { layout.tensors[2][0] = -1; });
  expect_refused({"kind names a mask"}, [](LayoutTensors& layout) { layout.tensors[3][0] = 1000; });
  expect_refused({"kind names a mask"}, [](LayoutTensors& layout) { layout.tensors[3][0] = -2; });
  expect_refused({"kind must have an entry"},
                 [](LayoutTensors& layout) { layout.tensors[3] = layout.tensors[3].slice(0, 1).clone(); });
  expect_refused({"tile must be"}, [](LayoutTensors& layout) { layout.sizes[0] = 0; });
  expect_refused({"must not be negative"}, [](LayoutTensors& layout) { layout.sizes[2] = -5; });
  expect_refused({"149 keys", "150 keys"}, [](LayoutTensors& layout) { layout.sizes[3] = 149; });
}

TEST(Dispatcher, AMixtureOfTwoLayoutsIsNeitherOfThem) {
  const LayoutTensors wide = attention::to_tensors(layout_of("window(64)", 150, 2));
  LayoutTensors mixed = attention::to_tensors(layout_of("window(9)", 150, 2));
  mixed.tensors[4] = wide.tensors[4];
  mixed.tensors[3] = wide.tensors[3];
  const Tensors tensors = random_tensors({1, 2, 150, 8});
  try {
    dispatched(tensors, mixed);  // the copy's own entries are used, or refused
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kArgument);
  }
}

}  // namespace
}  // namespace weft::test
