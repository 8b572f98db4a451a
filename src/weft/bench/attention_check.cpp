// SPDX-License-Identifier: Apache-2.0
// The oracle for everything at up to 600 tokens; beyond, single rows from multiplicity, which cost a row each.
#include "weft/bench/attention_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "weft/attention/devices/device.h"
#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::bench {
namespace {

// The oracle holds length x length float64 numbers a head.
constexpr std::int64_t kOracleLength = 600;
constexpr std::int64_t kSampledRows = 24;

double allowed(at::ScalarType dtype) { return dtype == at::kFloat ? 1e-5 : 1.0 / 64; }

void require_near(double error, const AttentionCase& call, const char* what) {
  if (!(error <= allowed(call.dtype))) {
    fail(ErrorKind::kNumeric, "weft bench attention: ", what, " of ", call.pattern.to_string(), " off by ", error,
         " where at most ", allowed(call.dtype), " is allowed; nothing was timed");
  }
}

double difference(const at::Tensor& found, const at::Tensor& expected) {
  return (found.cpu().to(at::kDouble) - expected).abs().max().item<double>();
}

attention::LayoutPtr layout_of(const AttentionCase& call, std::int64_t length) {
  return attention::cached_layout(call.pattern, call.site(length), {});
}

// Everything at a short length, gradients too.
AttentionCheck check_against_oracle(const AttentionCase& call, bool with_gradients) {
  const std::int64_t length = std::min(call.length, kOracleLength);
  std::vector<at::Tensor> given;
  std::vector<at::Tensor> exact;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    given.push_back(call.random(length, seed).set_requires_grad(with_gradients));
    exact.push_back(given.back().detach().cpu().to(at::kDouble).set_requires_grad(with_gradients));
  }
  const attention::AttentionOptions options = call.options();
  const at::Tensor found = attention::attention(given[0], given[1], given[2], layout_of(call, length), options).output;
  const at::Tensor expected =
      attention::dense_oracle(exact[0], exact[1], exact[2], {call.pattern, call.site(length)}, options);
  AttentionCheck check;
  check.max_abs_error = difference(found.detach(), expected.detach());
  require_near(check.max_abs_error, call, "outputs");
  if (with_gradients) {
    const at::Tensor direction = call.random(length, 3);
    const auto gradients = torch::autograd::grad({found}, given, {direction});
    const auto references = torch::autograd::grad({expected}, exact, {direction.cpu().to(at::kDouble)});
    for (std::size_t tensor = 0; tensor < 3; ++tensor) {
      const double largest = references[tensor].abs().max().item<double>();
      const double error = difference(gradients[tensor], references[tensor]) / (largest > 0 ? largest : 1.0);
      check.max_abs_gradient_error = std::max(check.max_abs_gradient_error, error);
      require_near(error, call, "gradients");
    }
  }
  return check;
}

// What the bias adds to the score of one pair.
double bias_of(const at::Tensor& slopes, std::int64_t head, std::int64_t query, std::int64_t key) {
  if (!slopes.defined() || query == key) {
    return 0;
  }
  const bool is_first = slopes.size(0) > 2 && (query == 0 || key == 0);
  const double slope = slopes[is_first ? 2 : (key > query ? 1 : 0)][head].item<double>();
  return -slope * static_cast<double>(std::abs(query - key));
}

// softmax(scale q K^T + log multiplicity + bias) V for one query, in float64, over the keys that it sees.
at::Tensor exact_row(const AttentionCase& call, const std::vector<at::Tensor>& tensors, std::int64_t head,
                     std::int64_t row) {
  pattern::Site site = call.site(call.length);
  site.head = head;
  const at::Tensor slopes = call.slopes();
  std::vector<std::int64_t> keys;
  std::vector<double> added;
  for (std::int64_t key = 0; key < call.length; ++key) {
    if (const auto times = call.pattern.multiplicity(site, row, key); times > 0) {
      keys.push_back(key);
      added.push_back(std::log(static_cast<double>(times)) + bias_of(slopes, head, row, key));
    }
  }
  const at::Tensor seen = at::tensor(keys, at::kLong);
  const auto rows = [&](const at::Tensor& tensor) { return tensor[0][head].index_select(0, seen).to(at::kDouble); };
  const at::Tensor scores = at::mv(rows(tensors[1]), tensors[0][0][head][row].to(at::kDouble))
                                .mul_(1.0 / std::sqrt(static_cast<double>(call.head_dim)))
                                .add_(at::tensor(added, at::kDouble));
  return at::mv(rows(tensors[2]).t(), at::softmax(scores, 0));
}

double check_sampled_rows(const AttentionCase& call) {
  const std::vector<at::Tensor> tensors{call.random(call.length, 0), call.random(call.length, 1),
                                        call.random(call.length, 2)};
  const at::Tensor found =
      attention::attention(tensors[0], tensors[1], tensors[2], layout_of(call, call.length), call.options())
          .output.cpu();
  const std::vector<at::Tensor> read{tensors[0].cpu(), tensors[1].cpu(), tensors[2].cpu()};
  double largest = 0;
  for (std::int64_t sample = 0; sample < kSampledRows; ++sample) {
    const auto draw = [&](std::int64_t bound, std::uint64_t what) {
      return static_cast<std::int64_t>(
          random_below(random_bits(7, static_cast<std::uint64_t>(sample), what), static_cast<std::uint64_t>(bound)));
    };
    const std::int64_t head = draw(call.heads, 0);
    const std::int64_t row = sample == 0 ? 0 : (sample == 1 ? call.length - 1 : draw(call.length, 1));
    largest = std::max(largest, difference(found[0][head][row], exact_row(call, read, head, row)));
    require_near(largest, call, "sampled rows");
  }
  return largest;
}

}  // namespace

pattern::Site AttentionCase::site(std::int64_t of_length) const {
  pattern::Site site;
  site.query_length = site.key_length = of_length;
  site.heads = heads;
  site.input = {input.begin(), std::lower_bound(input.begin(), input.end(), of_length)};
  return site;
}

at::Tensor AttentionCase::slopes() const {
  if (bias == "none") {
    return {};
  }
  const at::Tensor left = attention::alibi_slopes(heads);
  return bias == "alibi" ? at::stack({left, left}) : at::stack({left, left / 2, left / 4});
}

attention::AttentionOptions AttentionCase::options() const {
  attention::AttentionOptions options;
  options.slopes = slopes();
  return options;
}

at::Tensor AttentionCase::random(std::int64_t of_length, std::uint64_t seed) const {
  at::manual_seed(seed);
  return at::randn({batch, heads, of_length, head_dim}, at::kFloat).to(attention::opening_device(), dtype);
}

AttentionCheck check_attention(const AttentionCase& call, bool with_gradients) {
  AttentionCheck check = check_against_oracle(call, with_gradients);
  if (call.length > kOracleLength) {
    const at::NoGradGuard no_gradient;
    check.max_abs_error = std::max(check.max_abs_error, check_sampled_rows(call));
  }
  return check;
}

}  // namespace weft::bench
