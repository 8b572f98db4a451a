// SPDX-License-Identifier: Apache-2.0
// A call as the kernels of kernels/ are given it, whichever device they run on: the tensors that they read, with
// columns side by side, and a struct that points into them.
#pragma once

#include "weft/attention/call.h"
#include "weft/kernels/arguments.h"

namespace weft::attention {

kernels::DType kernel_dtype(at::ScalarType type);
/// A [B, H, N, C] tensor with columns side by side.
kernels::Input kernel_input(const at::Tensor& tensor);
kernels::Output kernel_output(const at::Tensor& tensor);

/// Room for the results of a call.
Forward room_for_results(const Call& call);

/// Its arguments point into tensors that it holds, and into the layout.
class KernelCall {
 public:
  /// `results`: room for them, or what the forward pass gave. Key and value may hold anything where they are padded.
  /// Errors: kArgument where no kernel accepts the call.
  KernelCall(const Call& call, const Forward& results);
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  const kernels::AttentionArguments& arguments() const noexcept { return arguments_; }

 private:
  void point_at_terms(const Call& call);

  at::Tensor query_;
  at::Tensor key_;
  at::Tensor value_;
  Forward results_;
  at::Tensor keep_;
  at::Tensor distances_;
  at::Tensor relative_query_;
  at::Tensor relative_rows_;
  at::Tensor query_positions_;
  at::Tensor key_positions_;
  at::Tensor first_positions_;
  kernels::AttentionArguments arguments_;
};

/// Room for the gradients of a call, and the output's gradient. The transpose is left to the caller.
class KernelGradients {
 public:
  KernelGradients(const Call& call, const at::Tensor& output_gradient);
  KernelGradients(const KernelGradients&) = delete;
  KernelGradients& operator=(const KernelGradients&) = delete;

  const kernels::AttentionGradients& arguments() const noexcept { return arguments_; }
  const Gradients& results() const noexcept { return results_; }

 private:
  at::Tensor output_gradient_;
  Gradients results_;
  kernels::AttentionGradients arguments_;
};

}  // namespace weft::attention
