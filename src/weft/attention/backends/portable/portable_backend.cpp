// SPDX-License-Identifier: Apache-2.0
// The rows of LibTorch's operators, and those of them that are a few operators.
#include "weft/attention/backends/portable/portable_backend.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty_like.h>

#include "weft/attention/backends/blocks/block_attention.h"
#include "weft/attention/backends/blocks/decode.h"
#include "weft/attention/backends/portable/dense_calls.h"
#include "weft/attention/backends/portable/relative_products.h"
#include "weft/attention/backends/portable/sums.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

template <typename GivenCall>
Answer takes_any(const GivenCall& /*call*/) {
  return Answer::yes();
}

std::optional<Forward> decode_portable(const Call& call) {
  return decode_by({accumulation_type, portable_forward}, call);
}

at::Tensor convolve_portable(const ConvolutionCall& call) {
  const at::Tensor rows = call.weights.unsqueeze(1).unsqueeze(-1);  // [H, 1, taps, 1]
  return call.base +
         at::conv2d(call.values, rows, {}, {1, 1}, {call.weights.size(1) / 2, 0}, {1, 1}, call.weights.size(0));
}

at::Tensor drop_portable(const DropoutCall& call) {
  // A clone: the device's own generator does not move, so that other draws stay what they were.
  at::Generator generator = at::globalContext().defaultGenerator(call.x.device()).clone();
  generator.set_current_seed(call.seed.number);
  const double kept = 1.0 - call.probability;
  return at::empty_like(call.x).bernoulli_(kept, generator).mul_(1.0 / kept).mul_(call.x);
}

void rotate_portable(const RotationCall& call, const at::Tensor& output) {
  const std::int64_t half = call.x.size(3) / 2;
  const at::Tensor first = call.x.narrow(3, 0, half);
  const at::Tensor second = call.x.narrow(3, half, half);
  const at::Tensor sine = call.is_inverse ? call.sine.neg() : call.sine;
  output.narrow(3, 0, half).copy_(first * call.cosine - second * sine);
  output.narrow(3, half, half).copy_(second * call.cosine + first * sine);
}

bool serves_all(c10::DeviceType /*device*/) { return true; }
bool is_slow_at_none(c10::ScalarType /*dtype*/) { return false; }

constexpr Way kPortableWays[] = {
    {Path::kDense, true, dense_takes, portable_dense_forward, nullptr},
    {Path::kPortable, true, blocks_take, block_forward, block_backward},
};
constexpr DecodeWay kPortableDecoding[] = {{edges_take, decode_portable}};

}  // namespace

constinit const Backend kPortableBackend = {
    .name = "portable",
    .ways = kPortableWays,
    .decode = kPortableDecoding,
    .relative = {takes_any<RelativeCall>, portable_relative_forward, portable_relative_backward},
    .convolution = {takes_any<ConvolutionCall>, convolve_portable, nullptr},
    .causal = {takes_any<CausalCall>, portable_causal, portable_causal_gradients},
    .decayed = {takes_any<DecayedCall>, portable_decayed},
    .dropout = {takes_any<DropoutCall>, drop_portable},
    .rotation = {takes_any<RotationCall>, rotate_portable},
    .traits = {serves_all, is_slow_at_none, false, false},
};

}  // namespace weft::attention
