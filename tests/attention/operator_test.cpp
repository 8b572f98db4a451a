// SPDX-License-Identifier: Apache-2.0
// What the operator promises besides its numbers: errors that name both sides, the path it takes, NaN that stays where
// it is, autocast, determinism, no second derivative, bounded memory.
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <limits>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_memory.h"
#include "weft/attention/backends/blocks/row_batches.h"
#include "weft/kernels/fused.h"

namespace weft::test {
namespace {

using attention::Path;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// kAuto is the fused kernel wherever the processor has one.
constexpr Path kBlockPaths[] = {Path::kPortable, Path::kScalar, Path::kAuto};

TEST(Operator, WrongLengthNamesBoth) {
  const auto layout = layout_of("window(8)", 100, 2);
  const Tensors tensors = random_tensors({1, 2, 90, 4});
  expect_error(ErrorKind::kArgument, {"100", "90", "window(8)"}, [&] { run(tensors, layout); });
  const Tensors heads = random_tensors({1, 4, 100, 4});
  expect_error(ErrorKind::kArgument, {"2 heads", "4"}, [&] { run(heads, layout); });
}

TEST(Operator, WrongTensorsAreErrors) {
  const auto layout = layout_of("full", 10, 4);
  const at::Tensor good = at::randn({2, 4, 10, 8});
  const auto refused = [&](const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                           std::initializer_list<std::string_view> words) {
    expect_error(ErrorKind::kArgument, words, [&] { attention::attention(query, key, value, layout); });
  };
  refused(good[0], good, good, {"[4, 10, 8]"});
  refused(good, good.to(at::kDouble), good, {"dtype", "Double"});
  refused(good.to(at::kLong), good.to(at::kLong), good.to(at::kLong), {"floating"});
  refused(good, at::randn({2, 3, 10, 8}), at::randn({2, 3, 10, 8}), {"multiple", "[2, 3, 10, 8]"});
  refused(good, at::randn({1, 4, 10, 8}), good, {"batch"});
  refused(good, at::randn({2, 4, 10, 7}), good, {"head_dim"});
  refused(good, good, at::randn({2, 4, 9, 8}), {"heads or length"});
  refused(good, {}, good, {"given"});
  expect_error(ErrorKind::kArgument, {"layout"}, [&] { attention::attention(good, good, good, nullptr); });
}

TEST(Operator, WrongOptionsAreErrors) {
  const auto layout = layout_of("window(3)", 10, 1);
  const at::Tensor good = at::randn({2, 1, 10, 8});
  const auto refused = [&](const attention::AttentionOptions& options, std::initializer_list<std::string_view> words) {
    expect_error(ErrorKind::kArgument, words, [&] { attention::attention(good, good, good, layout, options); });
  };
  attention::AttentionOptions options;
  options.dropout = 1.0;
  refused(options, {"dropout", "1"});
  options = {};
  options.key_keep = at::ones({2, 9}, at::kBool);
  refused(options, {"key_keep", "[2, 10]", "[2, 9]"});
  options.key_keep = at::ones({2, 10});
  refused(options, {"key_keep", "bool"});
  options = {};
  options.scale = kNaN;
  refused(options, {"scale"});
  options = {};
  options.path = Path::kDense;
  refused(options, {"dense path"});
}

TEST(Operator, TakesTheDensePathWhereNothingIsSparse) {
  const Tensors floats = random_tensors({2, 4, 70, 8});
  const Tensors tensors{floats.query.to(at::kDouble), floats.key.to(at::kDouble), floats.value.to(at::kDouble)};
  EXPECT_EQ(run(tensors, layout_of("full", 70, 4)).path, Path::kDense);
  EXPECT_EQ(run(tensors, layout_of("causal", 70, 4)).path, Path::kDense);
  EXPECT_EQ(run(tensors, layout_of("window(8)", 70, 4)).path, Path::kPortable);
  EXPECT_EQ(run(tensors, layout_of("heads(causal, full)", 70, 4)).path, Path::kPortable);
}

TEST(Operator, TakesTheFusedPathWhereTheProcessorHasOne) {
  if (kernels::chosen_isa() == kernels::InstructionSet::kScalar) {
    GTEST_SKIP() << "no fused kernel for this processor, or WEFT_ISA=scalar";
  }
  const Tensors tensors = random_tensors({2, 4, 70, 8});
  attention::AttentionOptions options;
  for (const char* expression : {"full", "causal", "window(8)", "heads(causal, full)"}) {
    EXPECT_EQ(run(tensors, layout_of(expression, 70, 4)).path, Path::kFused) << expression;
    options.key_keep = at::ones({2, 70}, at::kBool);
    options.dropout = 0.1;
    EXPECT_EQ(
        attention::attention(tensors.query, tensors.key, tensors.value, layout_of(expression, 70, 4), options).path,
        Path::kFused);
  }
  options.path = Path::kFused;
  const auto doubles = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  expect_error(ErrorKind::kArgument, {"fused path", "Double"}, [&] {
    attention::attention(doubles(tensors.query), doubles(tensors.key), doubles(tensors.value), layout_of("full", 70, 4),
                         options);
  });
}

TEST(Operator, ResultsLieInMemoryAsTheQueriesDo) {
  const auto split = [] { return at::randn({2, 70, 4, 8}).transpose(1, 2).requires_grad_(); };
  const at::Tensor query = split();
  const at::Tensor key = split();
  const at::Tensor output = attention::attention(query, key, key, layout_of("window(8)", 70, 4)).output;
  EXPECT_EQ(output.transpose(1, 2).is_contiguous(), kernels::chosen_isa() != kernels::InstructionSet::kScalar);
  const auto gradients = torch::autograd::grad({output.square().sum()}, {query});
  EXPECT_EQ(gradients[0].sizes(), query.sizes());
}

TEST(Operator, NaNAndInfinityStayInTheRowsThatAttendToThem) {
  const auto layout = layout_of("window(left=5, right=2)", 80, 1);
  for (const double poison : {kNaN, std::numeric_limits<double>::infinity()}) {
    for (const bool in_key : {true, false}) {
      for (const Path path : kBlockPaths) {
        Tensors tensors = random_tensors({1, 1, 80, 4});
        const at::Tensor clean = run(tensors, layout, path).output;
        (in_key ? tensors.key : tensors.value)[0][0][30][1] = poison;
        const at::Tensor dirty = run(tensors, layout, path).output;
        for (std::int64_t row = 0; row < 80; ++row) {
          const bool attends = row >= 28 && row <= 35;
          const at::Tensor found = dirty[0][0][row];
          if (!attends) {
            EXPECT_TRUE(at::allclose(found, clean[0][0][row], 1e-5, 1e-6)) << row << attention::to_string(path);
          } else if (poison != poison) {
            EXPECT_TRUE(found.isnan().any().item<bool>()) << row << attention::to_string(path);
          }
        }
      }
    }
  }
}

TEST(Operator, NaNInAQueryStaysInItsRow) {
  Tensors tensors = random_tensors({1, 1, 80, 4});
  tensors.query[0][0][7][2] = kNaN;
  for (const Path path : kBlockPaths) {
    const at::Tensor bad = run(tensors, layout_of("window(9)", 80, 1), path).output.isnan().any(-1);
    EXPECT_EQ(bad.sum().item<std::int64_t>(), 1);
    EXPECT_TRUE(bad[0][0][7].item<bool>());
  }
}

TEST(Operator, PaddedMemoryNeverLeaks) {
  const auto layout = layout_of("window(left=20, right=20)", 90, 2);
  attention::AttentionOptions options;
  options.key_keep = at::ones({3, 90}, at::kBool);
  options.key_keep[0].narrow(0, 60, 30).fill_(false);
  options.key_keep[1].fill_(false);
  const at::Tensor padded = options.key_keep.logical_not().view({3, 1, 90, 1});
  for (const Path path : kBlockPaths) {
    options.path = path;
    Tensors tensors = random_tensors({3, 2, 90, 8});
    for (at::Tensor* tensor : {&tensors.key, &tensors.value}) {
      *tensor = tensor->masked_fill(padded, kNaN).requires_grad_();
    }
    const at::Tensor output = attention::attention(tensors.query, tensors.key, tensors.value, layout, options).output;
    EXPECT_TRUE(output.isfinite().all().item<bool>());
    EXPECT_TRUE((output[1] == 0).all().item<bool>()) << "an all-padded row";
    const auto gradients = torch::autograd::grad({output.square().sum()}, {tensors.key, tensors.value});
    EXPECT_TRUE(gradients[0].isfinite().all().item<bool>());
    EXPECT_TRUE(gradients[1].isfinite().all().item<bool>());
    EXPECT_TRUE((gradients[0].masked_select(padded) == 0).all().item<bool>()) << attention::to_string(path);
    EXPECT_TRUE((gradients[1].masked_select(padded) == 0).all().item<bool>()) << attention::to_string(path);
  }
}

TEST(Operator, EmptyRowsGiveZerosAndZeroGradients) {
  for (const Path path : kBlockPaths) {
    Tensors tensors = random_tensors({1, 2, 100, 4});
    tensors.query[0][0][99] = kNaN;  // attends to nothing
    tensors.query.requires_grad_();
    tensors.key.requires_grad_();
    const auto result = run(
        tensors,
        layout_of("causal & !window(8) & global(first=50, side=keys) & !global(at=[99], side=queries)", 100, 2), path);
    EXPECT_TRUE((result.output[0][0][0] == 0).all().item<bool>());
    EXPECT_TRUE((result.output[0][0][99] == 0).all().item<bool>());
    EXPECT_EQ(result.log_sum_exp[0][1][2].item<double>(), -std::numeric_limits<double>::infinity());
    const auto gradients = torch::autograd::grad({result.output.square().sum()}, {tensors.query, tensors.key});
    EXPECT_TRUE(gradients[1].isfinite().all().item<bool>()) << attention::to_string(path);
    EXPECT_TRUE((gradients[0][0][0][99] == 0).all().item<bool>());
    EXPECT_TRUE((gradients[1][0][0].narrow(0, 50, 50) == 0).all().item<bool>());
  }
}

TEST(Operator, OneTokenAndNoTokens) {
  for (const Path path : {Path::kPortable, Path::kScalar, Path::kAuto}) {
    const Tensors one = random_tensors({2, 2, 1, 4});
    EXPECT_TRUE(at::allclose(run(one, layout_of("window(3)", 1, 2), path).output, one.value));
    const Tensors none = random_tensors({2, 2, 0, 4});
    EXPECT_EQ(run(none, layout_of("window(3)", 0, 2), path).output.numel(), 0);
    const Tensors nobody = random_tensors({0, 2, 5, 4});
    EXPECT_EQ(run(nobody, layout_of("window(3)", 5, 2), path).output.size(2), 5);
  }
}

TEST(Operator, SameBitsInTwoRunsAndForAnyNumberOfThreads) {
  const auto layout = layout_of("window(40) | global(first=3)", 200, 4);
  const auto gradients = [&](Path path, int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    Tensors tensors = random_tensors({2, 4, 200, 16});
    for (at::Tensor* tensor : {&tensors.query, &tensors.key, &tensors.value}) {
      tensor->requires_grad_();
    }
    const at::Tensor output = run(tensors, layout, path).output;
    auto result = torch::autograd::grad({output.square().sum()}, {tensors.query, tensors.key, tensors.value});
    result.push_back(output);
    at::set_num_threads(before);
    return result;
  };
  for (const Path path : kBlockPaths) {
    const auto first = gradients(path, 2);
    const auto again = gradients(path, 2);
    const auto serial = gradients(path, 1);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(at::equal(first[i], again[i])) << attention::to_string(path);
      // LibTorch's own products may split sums by threads; ours do not.
      EXPECT_TRUE(path != Path::kScalar || at::equal(first[i], serial[i]));
    }
  }
}

TEST(Operator, AutocastGivesItsDtypeAndKeepsSumsInFloat32) {
  const Tensors tensors = random_tensors({1, 2, 100, 16});
  const auto layout = layout_of("window(30)", 100, 2);
  const at::Tensor expected = run(tensors, layout).output;
  for (const Path path : kBlockPaths) {
    Tensors leaves = tensors;
    leaves.query = tensors.query.clone().requires_grad_();
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    const auto result = run(leaves, layout, path);
    result.output.sum().backward();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
    EXPECT_EQ(result.output.scalar_type(), at::kBFloat16);
    EXPECT_EQ(result.log_sum_exp.scalar_type(), at::kFloat);
    EXPECT_EQ(leaves.query.grad().scalar_type(), at::kFloat);
    EXPECT_TRUE(at::allclose(result.output.to(at::kFloat), expected, 0.0, 0.05));  // inputs of 8 bits
  }
}

TEST(Operator, SecondDerivativeIsAClearError) {
  Tensors tensors = random_tensors({1, 1, 20, 4});
  tensors.query.requires_grad_();
  const at::Tensor output = run(tensors, layout_of("window(5)", 20, 1)).output;
  const auto first = torch::autograd::grad({output.square().sum()}, {tensors.query}, {}, true, true);
  expect_error(ErrorKind::kUnsupported, {"second derivative"},
               [&] { torch::autograd::grad({first[0].sum()}, {tensors.query}); });
}

TEST(Operator, ATangentIsAnErrorAndNoConstant) {
  const auto level = torch::autograd::ForwardADLevel::get_next_idx();
  for (const std::int64_t queries : {20, 1}) {
    for (at::Tensor Tensors::* followed : {&Tensors::query, &Tensors::key, &Tensors::value}) {
      Tensors tensors = random_tensors({1, 1, queries, 4});
      tensors.*followed = at::_make_dual(tensors.*followed, at::ones({1, 1, queries, 4}), 0);
      const at::NoGradGuard no_grad;  // which tangents do not ask
      EXPECT_THROW(run(tensors, layout_of("window(5)", queries, 1, {queries == 1 ? 1 : 64, 64})), c10::Error);
    }
  }
  torch::autograd::ForwardADLevel::release_idx(level);
}

TEST(Operator, ProfilersNameUntracedCalls) {
  static int calls = 0;
  calls = 0;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
        calls += std::string_view(function.name()) == "weft::attention" ? 1 : 0;
        return nullptr;
      }));
  for (const std::int64_t queries : {20, 1}) {
    run(random_tensors({1, 1, queries, 4}), layout_of("window(5)", queries, 1, {queries == 1 ? 1 : 64, 64}));
  }
  at::removeCallback(handle);
  EXPECT_EQ(calls, 2);
}

TEST(Operator, GradientsOnlyWhereTheyAreAskedFor) {
  Tensors tensors = random_tensors({1, 2, 40, 4});
  tensors.value.requires_grad_();
  const at::Tensor output = run(tensors, layout_of("window(5)", 40, 2)).output;
  output.sum().backward();
  EXPECT_FALSE(tensors.query.grad().defined());
  EXPECT_TRUE(tensors.value.grad().defined());
}

TEST(Operator, MemoryGrowsWithEdges) {
  const auto peak = [](std::int64_t length, Path path) {
    const Tensors tensors = random_tensors({1, 1, length, 16});
    const auto layout = layout_of("window(256) | global(1)", length, 1);
    layout->kept(attention::row_batches_of);
    return testing::peak_tensor_bytes([&] {
      Tensors leaves{tensors.query.detach().requires_grad_(), tensors.key.detach().requires_grad_(),
                     tensors.value.detach().requires_grad_()};
      run(leaves, layout, path).output.sum().backward();
    });
  };
  for (const Path path : {Path::kAuto, Path::kPortable}) {
    const std::int64_t inputs = 3 * 16 * 4 * 8192;
    const std::int64_t small = peak(8192, path);
    const std::int64_t large = peak(16384, path);
    // All scores of 8,192 tokens would be 256 MB; inputs are 1.5 MB, and a piece has 16 MB and what its products need.
    EXPECT_LT(small, 12 * inputs + (std::int64_t{48} << 20)) << attention::to_string(path);
    EXPECT_LT(large - small, 12 * inputs) << attention::to_string(path);
  }
}

}  // namespace
}  // namespace weft::test
