// SPDX-License-Identifier: Apache-2.0
// Calls that come through the dispatcher and not by attention(): whatever does not fit is refused before a kernel
// follows it, forwards, backwards and for shapes alone; and the strides that are promised are those that come.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <functional>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "weft/attention/operator/layout_tensors.h"
#include "weft/attention/operator/operator.h"

namespace weft::test {
namespace {

using attention::LayoutTensors;

constexpr std::int64_t kCallLength = 150;

// All that the two operators take, good as it comes.
struct DirectCall {
  DirectCall() : DirectCall(random_tensors({2, 4, kCallLength, 16})) {}
  explicit DirectCall(Tensors given) : tensors(std::move(given)) {
    const at::Tensor& query = tensors.query;
    layout = attention::to_tensors(layout_of("window(9) | global(3)", query.size(2), query.size(1)));
    output = at::randn({query.size(0), query.size(1), query.size(2), tensors.value.size(3)}, query.options());
    output_gradient = at::randn_like(output);
    log_sum_exp = at::zeros({query.size(0), query.size(1), query.size(2)},
                            query.options().dtype(query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat));
  }

  attention::Results forward() const {
    return attention::forward_operator().call(tensors.query, tensors.key, tensors.value, key_keep, layout.tensors,
                                              layout.sizes, scale, dropout, 0, path, std::nullopt, 0, query_positions,
                                              key_positions, std::nullopt, true, false, draws);
  }
  attention::GradientResults backward() const {
    return attention::backward_operator().call(output_gradient, tensors.query, tensors.key, tensors.value, output,
                                               log_sum_exp, key_keep, layout.tensors, layout.sizes, scale, dropout, 0,
                                               path, std::nullopt, 0, query_positions, key_positions, std::nullopt,
                                               true, false, draws, false);
  }
  void each_tensor(const std::function<void(at::Tensor&)>& change) {
    for (at::Tensor* tensor : {&tensors.query, &tensors.key, &tensors.value, &output, &output_gradient, &log_sum_exp}) {
      change(*tensor);
    }
  }

  Tensors tensors;
  attention::OptionalTensor key_keep;
  attention::OptionalTensor query_positions;
  attention::OptionalTensor key_positions;
  LayoutTensors layout;
  at::Tensor output;
  at::Tensor output_gradient;
  at::Tensor log_sum_exp;
  double scale = 0.25;
  double dropout = 0.0;
  std::int64_t draws = 2;
  const char* path = "auto";
};

using Words = std::initializer_list<std::string_view>;
using Damage = std::function<void(DirectCall&)>;

void expect_refused_backward(const Words& words, const Damage& damage) {
  DirectCall call;
  damage(call);
  expect_error(ErrorKind::kArgument, words, [&] { call.backward(); });
  call.each_tensor([](at::Tensor& tensor) { tensor = tensor.to(at::kMeta); });
  if (call.key_keep) {
    call.key_keep = call.key_keep->to(at::kMeta);
  }
  expect_error(ErrorKind::kArgument, words, [&] { call.backward(); });
}

void expect_refused_everywhere(const Words& words, const Damage& damage) {
  expect_refused_backward(words, damage);
  DirectCall call;
  damage(call);
  for (const char* path : {"auto", "portable", "scalar"}) {
    call.path = path;
    expect_error(ErrorKind::kArgument, words, [&] { call.forward(); });
  }
}

TEST(UncheckedCall, TensorsThatDoNotFitAreRefused) {
  expect_refused_everywhere({"dtype", "Half"},
                            [](DirectCall& call) { call.tensors.key = call.tensors.key.to(at::kHalf); });
  expect_refused_everywhere({"head_dim"},
                            [](DirectCall& call) { call.tensors.key = at::randn({2, 4, kCallLength, 8}); });
  expect_refused_everywhere({"batch"}, [](DirectCall& call) { call.tensors.key = at::randn({1, 4, kCallLength, 16}); });
  expect_refused_everywhere({"batch"},
                            [](DirectCall& call) { call.tensors.value = at::randn({1, 4, kCallLength, 16}); });
  expect_refused_everywhere({"heads or length"},
                            [](DirectCall& call) { call.tensors.value = at::randn({2, 4, 149, 16}); });
  expect_refused_everywhere({"multiple"}, [](DirectCall& call) {
    call.tensors.key = at::randn({2, 3, kCallLength, 16});
    call.tensors.value = at::randn({2, 3, kCallLength, 16});
  });
  expect_refused_everywhere({"[batch, heads, length, head_dim]"},
                            [](DirectCall& call) { call.tensors.query = at::randn({3}); });
  expect_refused_everywhere({"floating", "Long"}, [](DirectCall& call) {
    for (at::Tensor* tensor : {&call.tensors.query, &call.tensors.key, &call.tensors.value}) {
      *tensor = tensor->to(at::kLong);
    }
  });
  expect_refused_everywhere({"floating"}, [](DirectCall& call) {
    for (at::Tensor* tensor : {&call.tensors.query, &call.tensors.key, &call.tensors.value}) {
      *tensor = tensor->to(at::kFloat8_e5m2);
    }
  });
}

TEST(UncheckedCall, LengthsThatAreNotTheLayoutsAreRefused) {
  DirectCall call;
  call.tensors.key = at::randn({2, 4, 149, 16});
  call.tensors.value = at::randn({2, 4, 149, 16});
  expect_error(ErrorKind::kArgument, {"150", "149"}, [&] { call.forward(); });
  expect_error(ErrorKind::kArgument, {"150", "149"}, [&] { call.backward(); });
}

TEST(UncheckedCall, PaddingAndNumbersThatDoNotFitAreRefused) {
  const auto padding = [](at::IntArrayRef sizes, at::ScalarType dtype) {
    return [sizes = sizes.vec(), dtype](DirectCall& call) { call.key_keep = at::ones(sizes, dtype); };
  };
  expect_refused_everywhere({"key_keep", "[1, 150]"}, padding({1, kCallLength}, at::kBool));
  expect_refused_everywhere({"key_keep", "[2, 64]"}, padding({2, 64}, at::kBool));
  expect_refused_everywhere({"key_keep", "[300]"}, padding({2 * kCallLength}, at::kBool));
  expect_refused_everywhere({"key_keep", "bool"}, padding({2, kCallLength}, at::kFloat));
  expect_refused_everywhere({"dropout"}, [](DirectCall& call) { call.dropout = 1.0; });
  for (const std::int64_t draws : {0, 3}) {
    expect_refused_everywhere({"draws", std::to_string(draws)}, [&](DirectCall& call) { call.draws = draws; });
  }
  expect_refused_everywhere({"scale"}, [](DirectCall& call) { call.scale = std::numeric_limits<double>::quiet_NaN(); });
}

TEST(UncheckedCall, PositionsThatDoNotFitAreRefused) {
  const auto refused = [](const Words& words, const Damage& damage) {
    DirectCall call;
    call.query_positions = call.key_positions = at::zeros({2, 4, kCallLength}, at::kInt);
    EXPECT_NO_THROW(call.forward());
    damage(call);
    expect_error(ErrorKind::kArgument, words, [&] { call.forward(); });
    expect_error(ErrorKind::kArgument, words, [&] { call.backward(); });
  };
  refused({"positions of queries", "[2, 4, 150]", "[2, 3, 150]"},
          [](DirectCall& call) { call.query_positions = at::zeros({2, 3, kCallLength}, at::kInt); });
  refused({"positions of keys", "[1, 4, 149]"},
          [](DirectCall& call) { call.key_positions = at::zeros({1, 4, 149}, at::kInt); });
  refused({"positions of keys", "int32", "Long"},
          [](DirectCall& call) { call.key_positions = at::zeros({2, 4, kCallLength}, at::kLong); });
  refused({"positions of keys", "none"}, [](DirectCall& call) { call.key_positions = std::nullopt; });
  refused({"need those of queries"}, [](DirectCall& call) { call.query_positions = std::nullopt; });
}

TEST(UncheckedCall, ResultsOfAnotherCallAreRefused) {
  expect_refused_backward({"log_sum_exp", "[2, 4, 64]"},
                          [](DirectCall& call) { call.log_sum_exp = at::zeros({2, 4, 64}); });
  expect_refused_backward({"log_sum_exp", "Double"},
                          [](DirectCall& call) { call.log_sum_exp = call.log_sum_exp.to(at::kDouble); });
  expect_refused_backward({"output gradient", "[2, 4, 64, 16]"},
                          [](DirectCall& call) { call.output_gradient = at::zeros({2, 4, 64, 16}); });
  expect_refused_backward({"output gradient", "BFloat16"},
                          [](DirectCall& call) { call.output_gradient = call.output_gradient.to(at::kBFloat16); });
  expect_refused_backward({"output", "[2, 4, 150, 8]"},
                          [](DirectCall& call) { call.output = at::zeros({2, 4, kCallLength, 8}); });
}

TEST(UncheckedCall, AutocastLeavesWholeNumbersToTheChecks) {
  DirectCall call;
  call.tensors.key = call.tensors.key.to(at::kLong);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  expect_error(ErrorKind::kArgument, {"dtype", "Long"}, [&] { call.forward(); });
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
}

TEST(UncheckedCall, SizesWhoseProductsOverflowAreRefused) {
  for (const std::size_t size : {2, 4, 5, 6, 7}) {
    DirectCall call;
    for (at::Tensor& tensor : call.layout.tensors) {
      tensor = tensor.clone();
    }
    call.layout.sizes[size] = std::int64_t{1} << 62;
    expect_error(ErrorKind::kArgument, {"at most"}, [&] { call.forward(); });
  }
}

struct StrideCase {
  std::vector<std::int64_t> query;
  std::vector<std::int64_t> key;
  std::int64_t value_dim;
  at::ScalarType dtype;
  const char* path;
};

// Where the columns lie side by side, as after a split of heads, and where they do not.
at::Tensor strided_view(int kind, at::IntArrayRef sizes, at::ScalarType dtype) {
  switch (kind) {
    case 0:
      return at::randn(sizes, dtype);
    case 1:
      return at::randn({sizes[0], sizes[2], sizes[1], sizes[3]}, dtype).transpose(1, 2);
    case 2:
      return at::randn({sizes[0], sizes[1], sizes[3], sizes[2]}, dtype).transpose(2, 3);
    default:
      return at::randn({sizes[0], sizes[1], sizes[2], 1}, dtype).expand(sizes);
  }
}

void expect_strides(const StrideCase& about, int kind) {
  SCOPED_TRACE(concat(at::IntArrayRef(about.query), " ", at::IntArrayRef(about.key), " ", about.dtype, " ", about.path,
                      " kind ", kind));
  const std::int64_t values[] = {about.key[0], about.key[1], about.key[2], about.value_dim};
  DirectCall call(Tensors{strided_view(kind, about.query, about.dtype), strided_view(kind, about.key, about.dtype),
                          strided_view(kind, values, about.dtype)});
  call.path = about.path;
  if (call.tensors.value.size(3) == 16 && about.dtype == at::kDouble) {
    call.layout = attention::to_tensors(layout_of("causal", about.query[2], about.query[1]));  // the dense path
  }
  call.output_gradient = strided_view(kind, call.output.sizes(), about.dtype);
  const auto [output, log_sum_exp] = call.forward();
  const auto [query, key, value, distances] = call.backward();
  call.each_tensor([](at::Tensor& tensor) { tensor = tensor.to(at::kMeta); });
  const auto [meta_output, meta_log_sum_exp] = call.forward();
  const auto [meta_query, meta_key, meta_value, meta_distances] = call.backward();
  const std::pair<at::Tensor, at::Tensor> pairs[] = {{output, meta_output},
                                                     {log_sum_exp, meta_log_sum_exp},
                                                     {query, meta_query},
                                                     {key, meta_key},
                                                     {value, meta_value}};
  EXPECT_FALSE(distances.defined() || meta_distances.defined());
  for (const auto& [real, meta] : pairs) {
    EXPECT_EQ(real.sizes(), meta.sizes());
    EXPECT_EQ(real.strides(), meta.strides());
    EXPECT_EQ(real.scalar_type(), meta.scalar_type());
    EXPECT_TRUE(real.dim() == 3 ? real.is_contiguous() : real.transpose(1, 2).is_contiguous());
  }
}

TEST(UncheckedCall, StridesAreThoseThatMetaKernelsPromise) {
  const StrideCase cases[] = {
      {{2, 4, 70, 16}, {2, 4, 70, 16}, 16, at::kFloat, "auto"},
      {{2, 4, 70, 16}, {2, 2, 70, 16}, 24, at::kBFloat16, "auto"},
      {{2, 4, 70, 16}, {2, 2, 70, 16}, 24, at::kFloat, "portable"},
      {{2, 4, 70, 16}, {2, 4, 70, 16}, 16, at::kHalf, "scalar"},
      {{2, 4, 70, 16}, {2, 4, 70, 16}, 16, at::kDouble, "auto"},
      {{2, 4, 70, 16}, {2, 2, 70, 16}, 16, at::kDouble, "auto"},
      {{1, 4, 1, 16}, {1, 4, 1, 16}, 16, at::kFloat, "auto"},
      {{1, 1, 70, 16}, {1, 1, 70, 16}, 8, at::kDouble, "auto"},
      {{0, 4, 70, 16}, {0, 4, 70, 16}, 16, at::kFloat, "auto"},
  };
  for (const StrideCase& about : cases) {
    for (int kind = 0; kind < 4; ++kind) {
      expect_strides(about, kind);
    }
  }
}

}  // namespace
}  // namespace weft::test
