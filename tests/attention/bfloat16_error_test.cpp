// SPDX-License-Identifier: Apache-2.0
// How far bfloat16 is off, beside LibTorch's dense attention in bfloat16 with the same mask: over five hundred random
// calls, the pooled root mean square error of each instruction set is at most 1.2 times the dense one.
#include <ATen/ops/scaled_dot_product_attention.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "pattern/random_pattern.h"
#include "weft/attention/backends/cpu/kernel_attention.h"
#include "weft/attention/call.h"

namespace weft::test {
namespace {

constexpr std::uint64_t kShards = 10;
constexpr std::uint64_t kShardCases = 52;
constexpr std::int64_t kLongest = 700;

// Sums of squared errors over the entries of rows that have an edge.
struct Errors {
  double squares = 0;
  std::int64_t entries = 0;

  void add(const at::Tensor& found, const at::Tensor& expected, const at::Tensor& rows) {
    const at::Tensor difference = (found.to(at::kDouble) - expected).masked_fill(rows.logical_not().unsqueeze(-1), 0.0);
    squares += difference.square().sum().item<double>();
    entries += rows.sum().item<std::int64_t>() * expected.size(3);
  }
  double root_mean_square() const { return std::sqrt(squares / static_cast<double>(entries)); }
};

class Trial {
 public:
  explicit Trial(std::uint64_t seed) : draw_(seed) {
    constexpr const char* kPatterns[] = {"full",
                                         "causal",
                                         "window(40)",
                                         "causal & window(left=90, right=0)",
                                         "window(9) | global(3)",
                                         "block(16, window(3)) | global(1)"};
    constexpr std::int64_t kHeadDims[] = {1, 7, 16, 40, 64, 80, 128, 256};
    site_.heads = 2;
    site_.query_length = site_.key_length = length();
    pattern_ = pattern::Pattern::parse(kPatterns[draw_.between(0, 5)]);
    const std::int64_t head_dim = kHeadDims[draw_.between(0, 7)];
    at::manual_seed(seed);
    const auto tensor = [&] { return at::randn({1, 2, site_.key_length, head_dim}).to(at::kBFloat16); };
    call_.query = tensor();
    call_.key = tensor();
    call_.value = tensor();
    call_.scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
    call_.layout = std::make_shared<const attention::Layout>(pattern::compile(pattern_, site_, {64, 64}));
    if (draw_.chance(30)) {
      call_.key_keep = at::rand({1, site_.key_length}) < 0.8;
    }
    make_reference();
  }

  const attention::Call& call() const { return call_; }
  void add(Errors& errors, const at::Tensor& output) const { errors.add(output, expected_, rows_); }
  at::Tensor dense() const {
    return at::scaled_dot_product_attention(call_.query, call_.key, call_.value, mask_, 0.0, false, call_.scale);
  }

 private:
  // Seldom long.
  std::int64_t length() {
    const double share = static_cast<double>(draw_.between(0, 1000)) / 1000;
    return 1 + static_cast<std::int64_t>(static_cast<double>(kLongest - 1) * share * share * share);
  }

  void make_reference() {
    const std::int64_t length = site_.key_length;
    mask_ = at::empty({1, 1, length, length}, at::kBool);
    bool* edges = mask_.mutable_data_ptr<bool>();
    for (std::int64_t query = 0; query < length; ++query) {
      for (std::int64_t key = 0; key < length; ++key) {
        *edges++ = pattern_.multiplicity(site_, query, key) > 0;
      }
    }
    if (call_.key_keep.defined()) {
      mask_ = mask_.logical_and(call_.key_keep.unsqueeze(1).unsqueeze(1));
    }
    rows_ = mask_.any(-1).expand({1, 2, length});
    const auto exact = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
    const at::Tensor scores = at::matmul(exact(call_.query), exact(call_.key).transpose(2, 3)) * call_.scale;
    const at::Tensor masked = scores.masked_fill(mask_.logical_not(), -std::numeric_limits<double>::infinity());
    expected_ = at::matmul(at::softmax(masked, -1), exact(call_.value)).nan_to_num(0.0);
  }

  RandomPattern draw_;
  pattern::Site site_;
  pattern::Pattern pattern_ = pattern::Pattern::parse("full");
  attention::Call call_;
  at::Tensor mask_;      // [1, 1, N, N]
  at::Tensor rows_;      // [1, 2, N]: those with an edge
  at::Tensor expected_;  // float64, from the stored bfloat16
};

class BFloat16Error : public ::testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Shard, BFloat16Error, ::testing::Range(std::uint64_t{0}, kShards));

TEST_P(BFloat16Error, IsThatOfDenseAttention) {
  const at::NoGradGuard no_gradient;
  Errors dense;
  std::map<kernels::InstructionSet, Errors> fused;
  for (std::uint64_t at = 0; at < kShardCases; ++at) {
    const Trial trial(5000 + GetParam() * kShardCases + at);
    trial.add(dense, trial.dense().nan_to_num(0.0));
    for (const kernels::InstructionSet isa : kernels::kInstructionSets) {
      if (kernels::is_available(isa)) {
        trial.add(fused[isa], attention::kernel_forward(trial.call(), isa).output);
      }
    }
  }
  for (const auto& [isa, errors] : fused) {
    EXPECT_LE(errors.root_mean_square(), 1.2 * dense.root_mean_square()) << kernels::to_string(isa);
  }
}

}  // namespace
}  // namespace weft::test
