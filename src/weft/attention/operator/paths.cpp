// SPDX-License-Identifier: Apache-2.0
// The table of paths.
#include "weft/attention/operator/paths.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "weft/attention/blocks/block_attention.h"
#include "weft/attention/dense_attention.h"
#include "weft/attention/kernel_attention.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"

namespace weft::attention {
namespace {

constexpr Path kPaths[] = {Path::kAuto, Path::kFused, Path::kPortable, Path::kScalar, Path::kDecode, Path::kDense};

// LibTorch's products know no padding: 0 x NaN is NaN.
Call filled(Call call) {
  call.key = without_padding(call.key, call.key_keep);
  call.value = without_padding(call.value, call.key_keep);
  return call;
}

// LibTorch's dense attention carries NaN and infinity to keys behind the causal edge. Where it would, the blocks'
// products take over, which do not.
bool has_only_finite(const Call& call) { return all_finite({call.query, call.key, call.value}); }

Path best_path(const Call& call) {
  if (fused_supports(call)) {
    return Path::kFused;
  }
  return is_dense(call) ? Path::kDense : Path::kPortable;
}

Forward forward_by_path(const Call& call) {
  switch (call.path) {
    case Path::kFused:
      return kernel_forward(call, kernels::chosen_isa());
    case Path::kScalar:
      return kernel_forward(call, kernels::InstructionSet::kScalar);
    case Path::kDense:
      return has_only_finite(call) ? dense_forward(call) : block_forward(filled(call));
    default:
      return block_forward(filled(call));
  }
}

Gradients backward_by_path(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
  switch (call.path) {
    case Path::kFused:
      return kernel_backward(call, kernels::chosen_isa(), forward, output_gradient);
    case Path::kScalar:
      return kernel_backward(call, kernels::InstructionSet::kScalar, forward, output_gradient);
    case Path::kDense:
      return has_only_finite(call) && all_finite({output_gradient, forward.log_sum_exp})
                 ? dense_backward(call, forward, output_gradient)
                 : block_backward(filled(call), forward, output_gradient);
    default:
      return block_backward(filled(call), forward, output_gradient);
  }
}

}  // namespace

const char* to_string(Path path) noexcept {
  switch (path) {
    case Path::kFused:
      return "fused";
    case Path::kPortable:
      return "portable";
    case Path::kScalar:
      return "scalar";
    case Path::kDecode:
      return "decode";
    case Path::kDense:
      return "dense";
    default:
      return "auto";
  }
}

Path path_of(std::string_view name) {
  for (const Path path : kPaths) {
    if (name == to_string(path)) {
      return path;
    }
  }
  const std::string known = joined(kPaths, ", ", [](Path path) { return to_string(path); });
  fail(ErrorKind::kArgument, "attention: path must be one of ", known, "; found \"", name, "\"");
}

Path chosen_path(const Call& call) {
  const Path path = call.path == Path::kAuto ? best_path(call) : call.path;
  require(path != Path::kDense || is_dense(call),
          "attention: the dense path serves full and causal layouts without padding, dropout, slopes, a distance "
          "table or row positions only");
  require(path != Path::kFused || fused_supports(call),
          "attention: the fused path serves float32, bfloat16 and float16 on a CPU, head_dim up to 256 and "
          "tiles of 64 keys only; found ",
          call.query.scalar_type(), ", head_dim ", call.query.size(3), ", tile ", call.layout->blocks().tile.query,
          " x ", call.layout->blocks().tile.key);
  require(path != Path::kScalar || call.query.is_cpu(), "attention: the scalar path serves the CPU only, found ",
          call.query.device());
  require(path != Path::kDecode,
          "attention: path must not be decode: a query row without gradients takes that path by itself");
  return path;
}

Forward run_forward(const Call& call) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Forward forward = forward_by_path(call);
  return {in_memory_order(forward.output), with_new_strides(forward.log_sum_exp)};
}

Gradients run_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Gradients found = backward_by_path(call, forward, output_gradient);
  return {in_memory_order(found.query), in_memory_order(found.key), in_memory_order(found.value), found.distances};
}

}  // namespace weft::attention
