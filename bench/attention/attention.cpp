// SPDX-License-Identifier: Apache-2.0
// The operator alone: forward, and forward with backward, of a causal window against dense causal attention, at growing
// lengths. Every pattern is compared with the oracle at a short length first: a wrong result gets no time.
#include <cstdio>

#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include "weft/attention/attention.h"
#include "weft/core/cpu.h"

namespace {

using namespace weft;

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kHeadDim = 64;
constexpr const char* kWindow = "causal & window(left=512, right=0)";
constexpr const char* kDense = "causal";

struct Call {
  at::Tensor query, key, value;
  attention::LayoutPtr layout;
};

pattern::Site site_of(std::int64_t length) {
  pattern::Site site;
  site.query_length = site.key_length = length;
  site.heads = kHeads;
  return site;
}

Call make_call(const char* expression, std::int64_t length, bool with_gradient) {
  at::manual_seed(0);
  const auto random = [&] {
    return at::randn({1, kHeads, length, kHeadDim}, at::kFloat).set_requires_grad(with_gradient);
  };
  return {random(), random(), random(),
          attention::cached_layout(pattern::Pattern::parse(expression), site_of(length), {})};
}

bool equals_oracle(const char* expression) {
  constexpr std::int64_t kLength = 600;
  const Call call = make_call(expression, kLength, false);
  const at::Tensor expected =
      attention::dense_oracle(call.query.to(at::kDouble), call.key.to(at::kDouble), call.value.to(at::kDouble),
                              {pattern::Pattern::parse(expression), site_of(kLength)});
  const at::Tensor found = attention::attention(call.query, call.key, call.value, call.layout).output;
  // float32 over 513 keys with values near 1.
  return (found.to(at::kDouble) - expected).abs().max().item<double>() < 1e-5;
}

void forward(benchmark::State& state, const char* expression) {
  const Call call = make_call(expression, state.range(0), false);
  for (auto _ : state) {
    benchmark::DoNotOptimize(attention::attention(call.query, call.key, call.value, call.layout).output);
  }
  state.SetComplexityN(state.range(0));
}

void forward_backward(benchmark::State& state, const char* expression) {
  const Call call = make_call(expression, state.range(0), true);
  const at::Tensor direction = at::randn_like(call.query);
  for (auto _ : state) {
    attention::attention(call.query, call.key, call.value, call.layout).output.backward(direction);
  }
  state.SetComplexityN(state.range(0));
}

void add(const char* name, void (*run)(benchmark::State&, const char*), const char* expression, std::int64_t longest) {
  benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { run(state, expression); })
      ->RangeMultiplier(4)
      ->Range(1024, longest)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->Complexity();
}

}  // namespace

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  for (const char* expression : {kWindow, kDense}) {
    if (!equals_oracle(expression)) {
      std::fprintf(stderr, "attention: '%s' differs from the oracle\n", expression);
      return 1;
    }
  }
  benchmark::AddCustomContext("processor", cpu_description());
  add("window_512/forward", forward, kWindow, 65536);
  add("window_512/forward_backward", forward_backward, kWindow, 65536);
  add("dense_causal/forward", forward, kDense, 4096);
  add("dense_causal/forward_backward", forward_backward, kDense, 4096);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
