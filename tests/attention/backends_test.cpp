// SPDX-License-Identifier: Apache-2.0
// Who computes: every kind of call asks the list of backends once and goes where it is taken. A backend that refuses
// everything proves that nothing is computed in silence by another: alone it is an error, in front of others it is
// passed over. Whoever computed the forward pass computes the backward pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include "attention/cuda/emulated_backend.h"
#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "weft/attention/backends/blocks/block_attention.h"
#include "weft/attention/backends/cpu/cpu_backend.h"
#include "weft/attention/backends/list.h"
#include "weft/attention/backends/portable/portable_backend.h"
#include "weft/attention/mechanisms/linear/causal_product.h"
#include "weft/attention/mechanisms/linear/decayed_product.h"
#include "weft/attention/mechanisms/nystrom/token_convolution.h"
#include "weft/attention/mechanisms/relative/relative_product.h"
#include "weft/attention/operator/autograd.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/operator.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/permuted/permuted_attention.h"
#include "weft/attention/seeded_dropout.h"
#include "weft/kernels/fused.h"

namespace weft::test {
namespace {

using attention::Backend;
using attention::BackendsInUse;
using attention::Path;
using Backends = std::vector<const Backend*>;

constexpr std::int64_t kTokens = 70;
constexpr const char* kRefusal = "it refuses everything";

int refusals = 0;

template <typename GivenCall>
attention::Answer refused(const GivenCall& /*call*/) {
  ++refusals;
  return attention::Answer::no(kRefusal);
}

constexpr attention::Way kRefusedWays[] = {
    {Path::kFused, true, refused<attention::Call>, attention::block_forward, attention::block_backward}};
constexpr attention::DecodeWay kRefusedDecoding[] = {{refused<attention::Call>, nullptr}};

const Backend kRefusing = {
    .name = "refusing",
    .ways = kRefusedWays,
    .decode = kRefusedDecoding,
    .relative = {refused<attention::RelativeCall>},
    .convolution = {refused<attention::ConvolutionCall>},
    .causal = {refused<attention::CausalCall>},
    .decayed = {refused<attention::DecayedCall>},
    .dropout = {refused<attention::DropoutCall>},
    .rotation = {refused<attention::RotationCall>},
    .traits = {[](c10::DeviceType) {
      ++refusals;
      return false;
    }},
};

/// A kind of call: its output from three inputs [2, 2, kTokens, 8] that gradients may be asked of.
struct Kind {
  const char* name;
  std::function<at::Tensor(const Tensors&)> output;
  bool draws = false;        ///< backends draw other numbers
  bool is_decoding = false;  ///< nobody asks for gradients
  bool is_portable = false;  ///< no other backend has it
  bool is_of_cpu = false;    ///< that of GPUs has it not
};

attention::LayoutPtr layout_of_kind(std::int64_t queries = kTokens) {
  pattern::Site site;
  site.query_length = queries;
  site.query_offset = kTokens - queries;
  site.key_length = kTokens;
  site.heads = 2;
  const pattern::Pattern pattern = pattern::Pattern::parse("causal & window(left=20, right=0)");
  return std::make_shared<const attention::Layout>(pattern::compile(pattern, site, {queries == 1 ? 1 : 64, 64}));
}

at::Tensor attended(const Tensors& in, const attention::AttentionOptions& options = {}) {
  return attention::attention(in.query, in.key, in.value, layout_of_kind(in.query.size(2)), options).output;
}

at::Tensor with_distances(const Tensors& in) {
  attention::AttentionOptions options;
  options.distances = {in.query.select(0, 0).select(1, 0).repeat({1, 3}), 0};
  return attended(in, options);
}

at::Tensor with_positions(const Tensors& in) {
  attention::AttentionOptions options;
  const at::Tensor places = at::arange(kTokens, at::kInt).view({1, 1, -1});
  options.positions = {places, places, {}, true, true};
  return attended(in, options);
}

at::Tensor with_relative(const Tensors& in) {
  attention::RelativeCall call{.query = in.query, .key = in.key, .value = in.value};
  call.distances = in.key.select(0, 0);
  call.content_bias = in.value.select(0, 0).select(1, 0);
  call.distance_bias = in.value.select(0, 1).select(1, 1);
  return attention::relative_attention(call);
}

at::Tensor permuted(const Tensors& in) {
  attention::PermutedCall call{.query = in.query, .key = in.key, .value = in.value};
  const at::Tensor turned = at::arange(kTokens).flip(0).view({1, 1, -1});
  call.parts = {{{}, {}, {}, layout_of_kind(), {}}, {turned, turned, turned, layout_of_kind(), {}}};
  return attention::permuted_attention(call);
}

at::Tensor sums_of(const Tensors& in) { return attention::causal_product(in.query, in.key, in.value, {}); }

at::Tensor sums_that_forget(const Tensors& in) {
  return attention::decayed_product(in.query, in.key, in.value, -in.value.select(-1, 0).abs(), {});
}

at::Tensor convolved_rows(const Tensors& in) {
  return attention::add_convolution(in.query.clone(), in.value, in.key.select(0, 0).select(-1, 0).narrow(1, 0, 5));
}

at::Tensor decoded(const Tensors& in) { return attended({in.query.narrow(2, 0, 1), in.key, in.value}); }

const std::vector<Kind> kKinds = {
    {"attention", [](const Tensors& in) { return attended(in); }},
    {"a distance table", with_distances},
    {"row positions", with_positions},
    {.name = "a relative term", .output = with_relative, .is_of_cpu = true},
    {"permuted parts", permuted},
    {.name = "a convolution", .output = convolved_rows, .is_of_cpu = true},
    {"a causal product", sums_of, false, false, true},
    {"a product that forgets", sums_that_forget, false, false, true},
    {"dropout", [](const Tensors& in) { return attention::seeded_dropout(in.query * in.key + in.value, 0.4, 5); },
     true},
    {"a decoded token", decoded, false, true},
};

/// The output of a kind and, where it is followed, its gradients; the backward pass is that of `backwards`.
std::vector<at::Tensor> computed(const Kind& kind, const Backends& backends, const Backends& backwards) {
  Tensors in = random_tensors({2, 2, kTokens, 8});
  for (at::Tensor* tensor : {&in.query, &in.key, &in.value}) {
    tensor->requires_grad_(!kind.is_decoding);
  }
  at::Tensor output;
  {
    const BackendsInUse in_use(backends);
    output = kind.output(in);
  }
  std::vector<at::Tensor> found = {output.detach()};
  if (!kind.is_decoding) {
    const BackendsInUse in_use(backwards);
    at::manual_seed(3);
    const at::Tensor loss = (output * at::randn(output.sizes())).sum();
    for (const at::Tensor& gradient :
         torch::autograd::grad({loss}, {in.query, in.key, in.value}, {}, {}, false, true)) {
      found.push_back(gradient.defined() ? gradient : at::zeros_like(in.query));
    }
  }
  return found;
}

double greatest_gap(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  double gap = found.size() == expected.size() ? 0.0 : 1.0;
  for (std::size_t at = 0; at < found.size() && gap < 1.0; ++at) {
    gap = std::max((found[at] - expected[at]).abs().max().item<double>(), gap);  // in this order NaN stays NaN
  }
  return gap;
}

TEST(Backends, WhatAllRefuseIsAnErrorWithTheReason) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    expect_error(ErrorKind::kUnsupported, {"no backend takes", "refusing: it refuses everything"},
                 [&] { computed(kind, {&kRefusing}, {&kRefusing}); });
  }
  const BackendsInUse in_use({&kRefusing});
  expect_error(ErrorKind::kUnsupported, {"no backend takes tensors on cpu"}, [] { attention::traits_of(at::kCPU); });
}

TEST(Backends, ARefusalGoesToTheNextInTheList) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    refusals = 0;
    const auto found = computed(kind, {&kRefusing, &attention::kPortableBackend}, {&attention::kPortableBackend});
    EXPECT_GE(refusals, 1);
    EXPECT_EQ(greatest_gap(found, computed(kind, {&attention::kPortableBackend}, {&attention::kPortableBackend})), 0.0);
  }
}

TEST(Backends, WhoeverComputedTheForwardPassComputesTheBackwardPass) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    const auto expected = computed(kind, {&attention::kPortableBackend}, {&attention::kPortableBackend});
    EXPECT_EQ(greatest_gap(computed(kind, {&attention::kPortableBackend}, {&kRefusing}), expected), 0.0);
  }
}

TEST(Backends, AgreeWithEachOther) {
  for (const Kind& kind : kKinds) {
    if (!kind.draws && !kind.is_portable && kernels::chosen_isa() != kernels::InstructionSet::kScalar) {
      const auto found = computed(kind, {&attention::kCpuBackend}, {&attention::kCpuBackend});
      const auto expected = computed(kind, {&attention::kPortableBackend}, {&attention::kPortableBackend});
      EXPECT_LT(greatest_gap(found, expected), 2e-4) << kind.name;  // float32 sums in another order
    }
  }
}

TEST(Backends, TheOneForGpusAgreesOverEmulatedKernels) {
  for (const Kind& kind : kKinds) {
    if (!kind.draws && !kind.is_portable && !kind.is_of_cpu) {
      const auto found = computed(kind, {&kEmulatedCuda}, {&kEmulatedCuda});
      const auto expected = computed(kind, {&attention::kPortableBackend}, {&attention::kPortableBackend});
      EXPECT_LT(greatest_gap(found, expected), 2e-4) << kind.name;  // float32 sums in another order
    }
  }
}

TEST(Backends, OneAloneSaysWhatItHasNot) {
  const BackendsInUse in_use({&attention::kCpuBackend});
  const Tensors in = random_tensors({1, 2, kTokens, 8}, at::kDouble);
  expect_error(ErrorKind::kUnsupported, {"the causal product", "cpu: it has nothing for such calls"},
               [&] { sums_of(in); });
  expect_error(ErrorKind::kUnsupported, {"cpu: the fused path serves", "cpu: the dense path serves", "found Double"},
               [&] { attended(in); });
}

TEST(Backends, APathThatIsAskedForIsTakenOrRefused) {
  const Tensors in = random_tensors({1, 2, kTokens, 8});
  attention::AttentionOptions options;
  options.path = Path::kFused;
  {
    const BackendsInUse in_use({&kRefusing, &attention::kPortableBackend});
    expect_error(ErrorKind::kArgument, {kRefusal, "found Float on cpu"}, [&] { attended(in, options); });
    const auto found = attention::attention(in.query, in.key, in.value, layout_of_kind());
    EXPECT_EQ(found.path, Path::kPortable);
    EXPECT_EQ(found.backend, "portable");
  }
  const BackendsInUse in_use({&attention::kPortableBackend});
  expect_error(ErrorKind::kArgument, {"no backend has a path fused"}, [&] { attended(in, options); });
}

attention::Call relative_call() {
  const Tensors in = random_tensors({2, 2, kTokens, 8});
  return {.query = in.query,
          .key = in.key,
          .value = in.value,
          .layout = layout_of_kind(),
          .relative = {in.value.clone(), in.key.select(0, 0).contiguous(), 0}};
}

TEST(Backends, ARelativeTermIsCheckedAndNeverIgnored) {
  attention::Call call = relative_call();
  attention::check_call(call);
  for (const Path path : {Path::kPortable, Path::kDense}) {
    call.path = path;
    expect_error(ErrorKind::kArgument, {"relative term"},
                 [&] { attention::choose_way(call, attention::Asker::kOperator); });
  }
  call.path = Path::kScalar;
  attention::choose_way(call, attention::Asker::kOperator);
  const attention::Forward forward = attention::run_forward(call);
  const attention::Gradients found = attention::run_backward(call, forward, at::ones_like(forward.output));
  EXPECT_GT(found.relative_query.abs().sum().item<double>(), 0.0);
  EXPECT_GT(found.relative_rows.abs().sum().item<double>(), 0.0);
  expect_error(ErrorKind::kArgument, {"relative_attention()"}, [&] { attention::arguments_of(call); });
  call.query.requires_grad_();
  expect_error(ErrorKind::kArgument, {"relative_attention()"}, [&] { attention::differentiable(call); });
  call.relative.rows = call.relative.rows.narrow(2, 0, 4);
  expect_error(ErrorKind::kArgument, {"relative term", "head_dim"}, [&] { attention::check_call(call); });
  call.relative.rows = call.relative.rows.to(at::kDouble);
  expect_error(ErrorKind::kArgument, {"relative term", "Double"}, [&] { attention::check_call(call); });
  call.relative.query = at::Tensor();
  expect_error(ErrorKind::kArgument, {"needs a query"}, [&] { attention::check_call(call); });
}

}  // namespace
}  // namespace weft::test
