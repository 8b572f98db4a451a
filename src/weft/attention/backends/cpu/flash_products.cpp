// SPDX-License-Identifier: Apache-2.0
// No score matrix, strided views read in place.
#include "weft/attention/backends/cpu/flash_products.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>

#include <optional>

#include "weft/attention/backends/blocks/decode.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

// The operator reads the bias by strides, so an expanded view costs nothing.
std::optional<at::Tensor> expanded_bias(const PieceInputs& inputs) {
  if (!inputs.bias.defined()) {
    return std::nullopt;
  }
  return inputs.bias.expand({inputs.query.size(0), inputs.bias.size(1), inputs.query.size(2), inputs.key.size(2)});
}

}  // namespace

Answer flash_takes(const Call& call) {
  if (!call.query.is_cpu() || call.query.size(3) != call.value.size(3)) {
    return Answer::no("LibTorch's fused attention serves a CPU only, and values as wide as keys");
  }
  return edges_take(call);
}

PieceForward flash_forward(const PieceInputs& inputs) {
  auto [output, log_sum_exp] = at::_scaled_dot_product_flash_attention_for_cpu(
      inputs.query, inputs.key, inputs.value, 0.0, false, expanded_bias(inputs), inputs.scale);
  if (inputs.bias.defined()) {
    const at::Tensor empty = (inputs.bias == -kInfinity).all(-1);
    if (empty.any().item<bool>()) {
      output.masked_fill_(empty.unsqueeze(-1), 0.0);
      log_sum_exp.masked_fill_(empty, -kInfinity);
    }
  }
  return {output, log_sum_exp};
}

}  // namespace weft::attention
