// SPDX-License-Identifier: Apache-2.0
// Distillation's losses beside Hinton's equations in plain float64 numbers, and their gradients beside differences.
#include "weft/layers/soft_targets.h"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include "support/expect_error.h"
#include "support/torch_gradcheck.h"

namespace weft::layers {
namespace {

using testing::expect_gradients;
using Row = std::vector<double>;

at::TensorOptions wide() { return at::TensorOptions(at::kDouble); }
at::Tensor learned(at::IntArrayRef shape) { return at::randn(shape, wide()).requires_grad_(true); }

// softmax(logits / T), as it is written in a book.
Row probabilities(const Row& logits, double temperature) {
  double sum = 0.0;
  Row result;
  for (const double logit : logits) {
    result.push_back(std::exp(logit / temperature));
    sum += result.back();
  }
  for (double& one : result) {
    one /= sum;
  }
  return result;
}

double divergence(const Row& teacher, const Row& student, double temperature) {
  const Row p = probabilities(teacher, temperature);
  const Row q = probabilities(student, temperature);
  double sum = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    sum += p[i] * std::log(p[i] / q[i]);
  }
  return temperature * temperature * sum;
}

Row numbers_of(const at::Tensor& logits, std::int64_t row) {
  Row result;
  for (std::int64_t i = 0; i < logits.size(1); ++i) {
    result.push_back(logits[row][i].item<double>());
  }
  return result;
}

class SoftTargetsTest : public ::testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(11); }

  SoftTargets teacher(const at::Tensor& logits, double weight, double temperature) {
    return {[this, logits](std::int64_t begin, std::int64_t rows) {
              most_rows_ = std::max(most_rows_, rows);
              return logits.narrow(0, begin, rows).clone();
            },
            weight, temperature};
  }

  std::int64_t most_rows_ = 0;  // that the teacher was asked for at once
  at::Tensor labels_ = at::tensor(std::vector<std::int64_t>{4, 0, 2, 2, 6}, at::kLong);
};

TEST_F(SoftTargetsTest, TheLossIsThatOfTheEquations) {
  const at::Tensor hidden = at::randn({5, 3}, wide());
  const at::Tensor weight = at::randn({7, 3}, wide());
  const at::Tensor bias = at::randn({7}, wide());
  const at::Tensor told = 3 * at::randn({5, 7}, wide());
  const at::Tensor logits = at::mm(hidden, weight.t()) + bias;
  for (const double temperature : {0.5, 1.0, 4.0}) {
    for (const double share : {0.0, 0.3, 1.0}) {
      double expected = 0.0;
      for (std::int64_t row = 0; row < 5; ++row) {
        const double hard = -std::log(
            probabilities(numbers_of(logits, row), 1.0)[static_cast<std::size_t>(labels_[row].item<std::int64_t>())]);
        expected += (1 - share) * hard / 5 +
                    share * divergence(numbers_of(told, row), numbers_of(logits, row), temperature) / 5;
      }
      for (const std::int64_t chunk : {1, 2, 5, 100}) {
        const at::Tensor found =
            distilled_cross_entropy({hidden, labels_}, {weight, bias}, teacher(told, share, temperature), chunk, 0.0);
        EXPECT_NEAR(found.item<double>(), expected, 1e-12) << temperature << " " << share << " " << chunk;
      }
    }
  }
}

TEST_F(SoftTargetsTest, TheGradientsAreThoseOfTheLoss) {
  const at::Tensor told = 2 * at::randn({5, 7}, wide());
  for (const std::int64_t chunk : {2, 0}) {
    const auto loss = [&](const auto& in) {
      return distilled_cross_entropy({in[0], labels_}, {in[1], in[2]}, teacher(told, 0.7, 2.0), chunk, 0.1);
    };
    expect_gradients(loss, {learned({5, 3}), learned({7, 3}), learned({7})});
  }
  const auto few = [&](const auto& in) { return soft_cross_entropy(in[0], told, 3.0); };
  expect_gradients(few, {learned({5, 7})});
}

TEST_F(SoftTargetsTest, AStudentThatEqualsItsTeacherHasNothingToLearnFromIt) {
  const at::Tensor hidden = at::randn({5, 3});
  const at::Tensor weight = at::randn({7, 3}).requires_grad_(true);
  const at::Tensor told = at::mm(hidden, weight.t()).detach();
  const at::Tensor loss = distilled_cross_entropy({hidden, labels_}, {weight, {}}, teacher(told, 1.0, 3.0), 2, 0.0);
  // Rounding of float32 logarithms.
  EXPECT_NEAR(loss.item<double>(), 0.0, 1e-6);
  loss.backward();
  EXPECT_LT(weight.grad().abs().max().item<double>(), 1e-6);
  EXPECT_NEAR(soft_cross_entropy(told, told, 2.0).item<double>(), 0.0, 1e-6);
}

TEST_F(SoftTargetsTest, WithoutAShareTheLossIsThatOfTheLabels) {
  const at::Tensor hidden = at::randn({5, 3});
  const at::Tensor weight = at::randn({7, 3});
  const at::Tensor told = at::randn({5, 7});
  const double hard = linear_cross_entropy(hidden, {weight, {}}, labels_, 2, 0.1).item<double>();
  // The same numbers times 1 and plus 0.
  EXPECT_EQ(distilled_cross_entropy({hidden, labels_}, {weight, {}}, teacher(told, 0.0, 2.0), 2, 0.1).item<double>(),
            hard);
}

TEST_F(SoftTargetsTest, TheTeacherIsAskedForAChunkAtATime) {
  const at::Tensor told = at::randn({5, 7});
  distilled_cross_entropy({at::randn({5, 3}), labels_}, {at::randn({7, 3}), {}}, teacher(told, 0.5, 1.0), 2, 0.0);
  EXPECT_EQ(most_rows_, 2);
}

TEST_F(SoftTargetsTest, SaysWhatDoesNotFit) {
  const at::Tensor hidden = at::randn({5, 3});
  test::expect_error(ErrorKind::kArgument, {"[5, 6]", "[5, 7]"}, [&] {
    distilled_cross_entropy({hidden, labels_}, {at::randn({7, 3}), {}}, teacher(at::randn({5, 6}), 0.5, 1.0), 0, 0.0);
  });
  test::expect_error(ErrorKind::kArgument, {"[4, 2]", "[4, 3]"},
                     [&] { soft_cross_entropy(at::randn({4, 3}), at::randn({4, 2}), 1.0); });
}

}  // namespace
}  // namespace weft::layers
