// SPDX-License-Identifier: Apache-2.0
// Nystrom attention against its equations in float64; texts as long as their landmarks; rows of a batch; memory.
#include <gtest/gtest.h>

#include <cmath>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::make_attention;
using attention::MechanismSite;

std::shared_ptr<attention::AttentionImpl> nystrom(const std::string& settings,
                                                  const at::TensorOptions& options = at::kDouble) {
  at::manual_seed(3);
  MechanismSite site;
  site.heads = 2;
  site.head_dim = 8;
  return make_attention("nystrom(" + settings + ")", site, options);
}

double nystrom_gap(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

/// softmax(x y^T / sqrt(D)).
at::Tensor pairs(const at::Tensor& x, const at::Tensor& y) {
  return at::softmax(at::matmul(x, y.transpose(-2, -1)) / std::sqrt(static_cast<double>(x.size(-1))), -1);
}

/// Means of stretches from floor(i n / l), rounded up, on.
at::Tensor landmarks(const at::Tensor& x, std::int64_t count) {
  std::vector<at::Tensor> means;
  const std::int64_t length = x.size(2);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = (i * length + count - 1) / count;
    const std::int64_t end = ((i + 1) * length + count - 1) / count;
    means.push_back(x.narrow(2, first, end - first).mean(2));
  }
  return at::stack(means, 2);
}

/// Every row of every column of the values beside its neighbours.
at::Tensor convolved(const at::Tensor& value, const at::Tensor& weights) {
  at::Tensor sum = at::zeros_like(value);
  const std::int64_t length = value.size(2);
  for (std::int64_t i = 0; i < weights.size(1); ++i) {
    const std::int64_t shift = i - weights.size(1) / 2;  // of the row that is taken
    const std::int64_t count = length - std::abs(shift);
    if (count > 0) {
      sum.narrow(2, std::max<std::int64_t>(-shift, 0), count) +=
          value.narrow(2, std::max<std::int64_t>(shift, 0), count) * weights.select(1, i).view({-1, 1, 1});
    }
  }
  return sum;
}

// Xiong et al. 2021, equations 8 and 11 and algorithm 1; `divisor` as in section 3.2 of the released program or alone.
at::Tensor nystrom_equations(const Tensors& tensors, const at::Tensor& weights, std::int64_t count, bool exact) {
  const at::Tensor query_marks = landmarks(tensors.query, count);
  const at::Tensor key_marks = landmarks(tensors.key, count);
  const at::Tensor a = pairs(query_marks, key_marks);
  const at::Tensor sums = a.sum(-2, true);
  at::Tensor z = a.transpose(-2, -1) / (exact ? sums.amax(-1, true) : sums.max());
  const at::Tensor one = at::eye(count, at::kDouble);
  for (int i = 0; i < 6; ++i) {
    const at::Tensor az = at::matmul(a, z);
    z = at::matmul(z, 13 * one - at::matmul(az, 15 * one - at::matmul(az, 7 * one - az))) / 4;
  }
  const at::Tensor mixed = at::matmul(z, at::matmul(pairs(query_marks, tensors.key), tensors.value));
  return at::matmul(pairs(tensors.query, key_marks), mixed) + convolved(tensors.value, weights);
}

TEST(NystromAttention, EqualsTheEquations) {
  for (const bool exact : {true, false}) {
    const auto module = nystrom(exact ? "landmarks=6, conv=5" : "landmarks=6, conv=5, init=released");
    const at::Tensor weights = module->parameters().front();
    for (const std::int64_t length : {7, 12, 65, 131}) {
      const Tensors tensors = random_tensors({3, 2, length, 8}, at::kDouble);
      const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
      EXPECT_LT(nystrom_gap(output, nystrom_equations(tensors, weights, 6, exact)), 1e-10) << length;
    }
  }
}

TEST(NystromAttention, ATextOfItsLandmarksIsSoftmax) {
  const auto module = nystrom("landmarks=12, conv=0");
  for (const std::int64_t length : {1, 5, 12}) {
    const Tensors tensors = random_tensors({2, 2, length, 8}, at::kDouble);
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
    EXPECT_LT(nystrom_gap(output, at::matmul(pairs(tensors.query, tensors.key), tensors.value)), 1e-12);
  }
}

TEST(NystromAttention, RowsOfABatchAreCoupledOnlyAsReleased) {
  const Tensors tensors = random_tensors({2, 2, 60, 8}, at::kDouble);
  const Tensors peaked{tensors.query * 6, tensors.key * 6, tensors.value};
  for (const bool exact : {true, false}) {
    const auto module = nystrom(exact ? "landmarks=6" : "landmarks=6, init=released");
    const at::Tensor both = module->forward(peaked.query, peaked.key, peaked.value, {});
    double gap = 0;
    for (const std::int64_t row : {0, 1}) {
      const at::Tensor alone = module->forward(peaked.query.narrow(0, row, 1), peaked.key.narrow(0, row, 1),
                                               peaked.value.narrow(0, row, 1), {});
      gap = std::max(gap, nystrom_gap(alone[0], both[row]));
    }
    EXPECT_EQ(exact, gap < 1e-12) << gap;
  }
}

TEST(NystromAttention, MemoryIsProportionalToTheLength) {
  const auto peak = [](std::int64_t length) {
    const Tensors tensors = random_tensors({1, 2, length, 8});
    const auto module = nystrom("landmarks=16, conv=0", at::kFloat);  // oneDNN's buffers cannot be counted
    const at::Tensor query = tensors.query.requires_grad_();
    const at::Tensor key = tensors.key.requires_grad_();
    return testing::peak_tensor_bytes([&] { module->forward(query, key, tensors.value, {}).sum().backward(); });
  };
  EXPECT_LT(peak(16384), 4 * peak(4096) + (1 << 20));
}

TEST(NystromAttention, ErrorsNameTheSetting) {
  EXPECT_EQ(nystrom("")->description(), "nystrom(landmarks=64, iterations=6, conv=65)");
  EXPECT_EQ(nystrom("init=released, conv=0")->description(),
            "nystrom(landmarks=64, init=released, iterations=6, conv=0)");
  expect_error(ErrorKind::kExpression, {"odd", "64"}, [] { nystrom("conv=64"); });
  expect_error(ErrorKind::kExpression, {"init", "exact", "fast"}, [] { nystrom("init=fast"); });
  MechanismSite site;
  site.causal = true;
  expect_error(ErrorKind::kArgument, {"nystrom", "landmarks are means over the whole text"},
               [&] { make_attention("nystrom", site); });
  const Tensors tensors = random_tensors({1, 2, 9, 8}, at::kDouble);
  expect_error(ErrorKind::kArgument, {"same text"},
               [&] { nystrom("")->forward(tensors.query.narrow(2, 0, 3), tensors.key, tensors.value, {}); });
}

}  // namespace
}  // namespace weft::test
