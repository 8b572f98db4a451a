// SPDX-License-Identifier: Apache-2.0
// The table of paths.
#include "weft/attention/operator/paths.h"

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
bool knows_only_finite(const Call& call) {
  return all_finite(call.query) && all_finite(call.key) && all_finite(call.value);
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

Path choose_path(const Call& call) {
  if (fused_supports(call)) {
    return Path::kFused;
  }
  return is_dense(call) ? Path::kDense : Path::kPortable;
}

void check_path(const Call& call, Path path) {
  require(path != Path::kDense || is_dense(call),
          "attention: the dense path serves full and causal layouts without padding, dropout or slopes only");
  require(path != Path::kFused || fused_supports(call),
          "attention: the fused path serves float32, bfloat16 and float16 on a CPU, head_dim up to 256 and "
          "tiles of 64 keys only; found ",
          call.query.scalar_type(), ", head_dim ", call.query.size(3), ", tile ", call.layout->blocks().tile.query,
          " x ", call.layout->blocks().tile.key);
  require(path != Path::kScalar || call.query.is_cpu(), "attention: the scalar path serves the CPU only, found ",
          call.query.device());
  require(path != Path::kDecode,
          "attention: path must not be decode: a query row without gradients takes that path by itself");
}

Forward run_forward(const Call& call, Path path) {
  switch (path) {
    case Path::kFused:
      return kernel_forward(call, kernels::chosen_isa());
    case Path::kScalar:
      return kernel_forward(call, kernels::InstructionSet::kScalar);
    case Path::kDense:
      return knows_only_finite(call) ? dense_forward(call) : block_forward(filled(call));
    default:
      return block_forward(filled(call));
  }
}

Gradients run_backward(const Call& call, Path path, const Forward& forward, const at::Tensor& output_gradient) {
  switch (path) {
    case Path::kFused:
      return kernel_backward(call, kernels::chosen_isa(), forward, output_gradient);
    case Path::kScalar:
      return kernel_backward(call, kernels::InstructionSet::kScalar, forward, output_gradient);
    case Path::kDense:
      return knows_only_finite(call) && all_finite(output_gradient) && all_finite(forward.log_sum_exp)
                 ? dense_backward(call, forward, output_gradient)
                 : block_backward(filled(call), forward, output_gradient);
    default:
      return block_backward(filled(call), forward, output_gradient);
  }
}

}  // namespace weft::attention
