// SPDX-License-Identifier: Apache-2.0
// Every path against the dense float64 oracle, outputs and gradients, over random patterns, lengths, heads, padding and
// strides.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "attention/cuda/emulated_backend.h"
#include "attention/random_call.h"
#include "support/torch_gradcheck.h"
#include "weft/attention/backends/list.h"

namespace weft::test {
namespace {

using attention::Path;

constexpr std::uint64_t kCases = 220;
constexpr int kEmulatedCases = 25;

struct Answer {
  at::Tensor output;
  std::vector<at::Tensor> gradients;  // of query, key, value, and slopes or table
};

// `function` of query, key, value, and the options with slopes or a distance table that have gradients.
using CallFunction = std::function<at::Tensor(const std::vector<at::Tensor>&, const attention::AttentionOptions&)>;

Answer answer_of(const CallFunction& function, const RandomCall& call, at::ScalarType dtype) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& tensor : {call.query, call.key, call.value}) {
    leaves.push_back(tensor.to(dtype).detach().requires_grad_());
  }
  attention::AttentionOptions options = call.options;
  for (at::Tensor* tensor : {&options.slopes, &options.distances.scores}) {
    if (tensor->defined()) {
      *tensor = tensor->to(dtype == at::kDouble ? at::kDouble : at::kFloat).detach().requires_grad_();
      leaves.push_back(*tensor);
    }
  }
  const at::Tensor output = function({leaves[0], leaves[1], leaves[2]}, options);
  at::manual_seed(7);
  const at::Tensor weight = at::randn(output.sizes(), at::kDouble);
  const auto gradients = torch::autograd::grad({(output.to(at::kDouble) * weight).sum()}, leaves, {}, {}, false, true);
  Answer answer{output.detach().to(at::kDouble), {}};
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    answer.gradients.push_back(gradients[i].defined() ? gradients[i].to(at::kDouble)
                                                      : at::zeros_like(leaves[i], at::kDouble));
  }
  return answer;
}

Answer operator_answer(const RandomCall& call, Path path, at::ScalarType dtype) {
  const auto layout = call.layout();
  return answer_of(
      [&](const std::vector<at::Tensor>& tensors, attention::AttentionOptions options) {
        options.path = path;
        return attention::attention(tensors[0], tensors[1], tensors[2], layout, options).output;
      },
      call, dtype);
}

void expect_near(const at::Tensor& found, const at::Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  if (found.numel() > 0) {
    const double scale = 1 + expected.abs().max().item<double>();
    const double difference = (found - expected).abs().max().item<double>();
    EXPECT_LE(difference, tolerance * scale) << what;  // false for NaN
  }
}

void expect_agreement(const RandomCall& call, const Answer& expected, const Answer& found, double tolerance,
                      const std::string& what) {
  const std::string where = what + " " + call.name();
  expect_near(found.output, expected.output, tolerance, where + ", output");
  constexpr const char* kNames[] = {", dQ", ", dK", ", dV", ", dSlopes or dTable"};
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    // A slope's gradient is a sum over distances to 300, of rounded numbers that nearly cancel.
    const double reach = i == 3 && call.options.slopes.defined() ? 100 : (i == 3 ? 5 : 1);
    expect_near(found.gradients[i], expected.gradients[i], reach * tolerance, where + kNames[i]);
  }
}

bool fused_takes(const RandomCall& call) { return call.tile.key == 64 && call.tile.query <= 64; }

// Float64 leaves rounding only, but log multiplicities are float32 in a layout. In float32 a row with one edge has a
// score gradient of dP - delta = 0: two sums of 64 products near 8, each off by 1e-6, which 4 heads and 77 rows add up.
constexpr double kTight = 1e-11;
constexpr double kWeighted = 3e-7;
constexpr double kFloat32 = 2e-5;
// A log multiplicity beside a score of -1e5, whose neighbours are 0.008 apart.
constexpr double kOwnAlone = 1e-2;

TEST(Agreement, PathsEqualTheOracle) {
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCall call(seed);
    const auto oracle = [&call](const std::vector<at::Tensor>& tensors, const attention::AttentionOptions& options) {
      return call.oracle(tensors, options);
    };
    const Answer expected = answer_of(oracle, call, at::kDouble);
    const bool is_weighted = !call.layout()->blocks().log_weight.empty();
    const double tight = is_weighted ? kWeighted : kTight;
    const double single = is_weighted && call.options.positions.not_self ? kOwnAlone : kFloat32;
    expect_agreement(call, expected, operator_answer(call, Path::kPortable, at::kDouble), tight, "portable float64");
    expect_agreement(call, expected, operator_answer(call, Path::kAuto, at::kFloat), single, "auto float32");
    if (seed % 2 == 0) {
      expect_agreement(call, expected, operator_answer(call, Path::kScalar, at::kDouble), tight, "scalar float64");
    } else {
      expect_agreement(call, expected, operator_answer(call, Path::kPortable, at::kFloat), single, "portable float32");
      expect_agreement(call, expected, operator_answer(call, Path::kScalar, at::kFloat), single, "scalar float32");
    }
    if (HasFailure()) {
      return;
    }
  }
}

// Kernels on emulated lanes are slow: the calls of tiles of 64 with little work.
TEST(Agreement, KernelsForGpusEqualTheOracle) {
  const attention::BackendsInUse in_use({&kEmulatedCuda});
  int found = 0;
  for (std::uint64_t seed = 0; seed < kCases && found < kEmulatedCases; ++seed) {
    const RandomCall call(seed);
    if (call.tile != pattern::Tile{64, 64} || call.batch * call.site.query_length * call.site.key_length > 20000) {
      continue;
    }
    SCOPED_TRACE(seed);
    ++found;
    const auto oracle = [&call](const std::vector<at::Tensor>& tensors, const attention::AttentionOptions& options) {
      return call.oracle(tensors, options);
    };
    const bool is_own_alone = !call.layout()->blocks().log_weight.empty() && call.options.positions.not_self;
    expect_agreement(call, answer_of(oracle, call, at::kDouble), operator_answer(call, Path::kFused, at::kFloat),
                     is_own_alone ? kOwnAlone : kFloat32, "cuda float32");
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_EQ(found, kEmulatedCases);
}

TEST(Agreement, HalfTypesRoundStorageOnly) {
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    SCOPED_TRACE(seed);
    RandomCall call(seed);
    for (at::Tensor* tensor : {&call.query, &call.key, &call.value}) {
      *tensor = tensor->to(at::kBFloat16).to(at::kDouble);  // the oracle sees what is stored
    }
    const at::Tensor expected = call.oracle({call.query, call.key, call.value}, call.options);
    for (const Path path : {Path::kAuto, Path::kPortable, Path::kScalar}) {
      const at::Tensor found = operator_answer(call, path, at::kBFloat16).output;
      // One rounding to 8 bits is 2^-9 of the largest entry; a fused operator that rounds probabilities too adds as
      // much.
      expect_near(found, expected, 1.0 / 128, call.name());
    }
    if (HasFailure()) {
      return;
    }
  }
}

TEST(Agreement, DropoutDropsTheSameEntriesOnEveryPath) {
  for (std::uint64_t seed = 2000; seed < 2020; ++seed) {
    SCOPED_TRACE(seed);
    RandomCall call(seed);
    call.options.dropout = 0.5;
    call.options.seed = seed;
    const Answer scalar = operator_answer(call, Path::kScalar, at::kDouble);
    expect_agreement(call, scalar, operator_answer(call, Path::kPortable, at::kDouble), kTight, "portable");
    if (fused_takes(call)) {
      expect_agreement(call, scalar, operator_answer(call, Path::kFused, at::kFloat), kFloat32, "fused");
    }
  }
}

TEST(Agreement, LogSumExpIsTheSameOnEveryPath) {
  for (std::uint64_t seed = 3000; seed < 3040; ++seed) {
    SCOPED_TRACE(seed);
    RandomCall call(seed);
    call.options.dropout = 0;
    const auto run = [&call](Path path) {
      attention::AttentionOptions options = call.options;
      options.path = path;
      return attention::attention(call.query, call.key, call.value, call.layout(), options).log_sum_exp;
    };
    const at::Tensor scalar = run(Path::kScalar);
    EXPECT_TRUE(at::allclose(scalar, run(Path::kPortable), 1e-10, 1e-10)) << call.name();
    EXPECT_TRUE(at::allclose(scalar, run(Path::kAuto), 1e-10, 1e-10)) << call.name();
  }
}

TEST(Agreement, GradientsEqualCentralDifferences) {
  const pattern::Pattern pattern = pattern::Pattern::parse("heads(window(5) | global(1), !window(3))");
  pattern::Site site;
  site.query_length = 9;
  site.key_length = 11;
  site.heads = 4;
  const auto layout = std::make_shared<const attention::Layout>(pattern::compile(pattern, site, {4, 8}));
  at::manual_seed(1);
  const std::vector<at::Tensor> inputs{at::randn({2, 4, 9, 3}, at::kDouble), at::randn({2, 2, 11, 3}, at::kDouble),
                                       at::randn({2, 2, 11, 3}, at::kDouble)};
  for (const Path path : {Path::kPortable, Path::kScalar}) {
    for (const double dropout : {0.0, 0.4}) {
      attention::AttentionOptions options;
      options.path = path;
      options.dropout = dropout;
      options.key_keep = at::ones({2, 11}, at::kBool);
      options.key_keep[1].narrow(0, 6, 5).fill_(false);
      SCOPED_TRACE(attention::to_string(path));
      testing::expect_gradients(
          [&](const std::vector<at::Tensor>& tensors) {
            return attention::attention(tensors[0], tensors[1], tensors[2], layout, options).output;
          },
          inputs);
    }
  }
}

TEST(Agreement, DenseGradientsEqualCentralDifferences) {
  for (const char* expression : {"full", "causal"}) {
    pattern::Site site;
    site.query_length = site.key_length = 7;
    site.heads = 2;
    const auto layout = std::make_shared<const attention::Layout>(
        pattern::compile(pattern::Pattern::parse(expression), site, {64, 64}));
    at::manual_seed(2);
    testing::expect_gradients(
        [&](const std::vector<at::Tensor>& tensors) {
          const auto result = attention::attention(tensors[0], tensors[1], tensors[2], layout);
          EXPECT_EQ(result.path, Path::kDense);
          return result.output;
        },
        {at::randn({1, 2, 7, 4}, at::kDouble), at::randn({1, 1, 7, 4}, at::kDouble),
         at::randn({1, 1, 7, 4}, at::kDouble)});
  }
}

}  // namespace
}  // namespace weft::test
