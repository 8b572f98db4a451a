// SPDX-License-Identifier: Apache-2.0
// The gradient of the values is the convolution with the weights in reverse; that of the weights is a product of
// blocks, summed along its diagonals.
#include "weft/attention/backends/cpu/row_convolution.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>

#include "weft/attention/operator/operator.h"
#include "weft/attention/tensors.h"
#include "weft/attention/thread_pool.h"
#include "weft/kernels/row_convolution.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kLeastBlock = 64;  // rows that meet in a product of the weights' gradient

bool convolves(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && is_plain(tensor);
}

at::Tensor with_whole_rows(const at::Tensor& tensor) {
  return tensor.stride(3) == 1 || tensor.size(3) == 1 ? tensor : tensor.contiguous();
}

template <typename Pointer>
kernels::Array4<Pointer> array_of(const at::Tensor& tensor, Pointer data) {
  return {data, tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

/// added + convolution, into `output`, which may be `added`; an undefined `added` is zeros.
void convolve_into(const at::Tensor& output, const at::Tensor& added, const at::Tensor& values,
                   const at::Tensor& weights) {
  const at::Tensor rows = with_whole_rows(values);
  const at::Tensor taps = weights.contiguous();
  kernels::RowConvolution call{.batch = rows.size(0),
                               .heads = rows.size(1),
                               .rows = rows.size(2),
                               .columns = rows.size(3),
                               .taps = taps.size(1)};
  call.values = array_of(rows, rows.const_data_ptr<float>());
  call.weights = taps.const_data_ptr<float>();
  if (added.defined()) {
    call.added = array_of(added, added.const_data_ptr<float>());
  }
  call.output = array_of(output, output.mutable_data_ptr<float>());
  kernels::convolve_rows(kernels::chosen_isa(), call, kTorchThreads);
}

/// [H, taps]: the sum over batch, n and columns of gradient[n] values[n + t - taps / 2].
at::Tensor gradient_of_weights(const at::Tensor& gradient, const at::Tensor& values, std::int64_t taps) {
  const std::int64_t block = std::max(kLeastBlock, taps - 1);
  const std::int64_t seen = block + taps - 1;
  const std::int64_t missing = (block - gradient.size(2) % block) % block;
  const at::Tensor rows = at::constant_pad_nd(gradient, {0, 0, 0, missing});
  const at::Tensor around = at::constant_pad_nd(values, {0, 0, taps / 2, missing + taps / 2});
  const std::int64_t heads = gradient.size(1);
  // [B, H, blocks, D, rows] -> [H, rows, B blocks D]
  const auto of_heads = [heads](const at::Tensor& blocks) {
    return blocks.permute({1, 4, 0, 2, 3}).reshape({heads, blocks.size(4), -1});
  };
  const at::Tensor products = at::bmm(of_heads(rows.unfold(2, block, block)),
                                      of_heads(around.unfold(2, seen, block)).transpose(1, 2));  // [H, block, seen]
  return products.contiguous().as_strided({heads, block, taps}, {block * seen, seen + 1, 1}).sum(1);
}

}  // namespace

Answer kernel_takes_convolution(const ConvolutionCall& call) {
  if (!convolves(call.base) || !convolves(call.values) || !convolves(call.weights)) {
    return Answer::no("its kernels convolve rows of float32 on a CPU that nobody traces only");
  }
  return Answer::unless(!kernels::convolves_rows(kernels::chosen_isa()), "WEFT_ISA=scalar has no kernel for it");
}

at::Tensor kernel_convolution(const ConvolutionCall& call) {
  const at::Tensor base = with_whole_rows(call.base);
  at::Tensor output =
      call.may_write_base ? base : empty_heads(call.values.sizes(), call.values.options().requires_grad(false));
  convolve_into(output, base, call.values, call.weights);
  return output;
}

ConvolutionGradients kernel_convolution_gradients(const ConvolutionCall& call, const at::Tensor& gradient,
                                                  bool asks_values, bool asks_weights) {
  ConvolutionGradients found;
  if (asks_values) {
    found.values = empty_heads(call.values.sizes(), call.values.options());
    convolve_into(found.values, {}, gradient, call.weights.flip(1));
  }
  if (asks_weights) {
    found.weights = gradient_of_weights(gradient, call.values, call.weights.size(1));
  }
  return found;
}

}  // namespace weft::attention
