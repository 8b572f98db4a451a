// SPDX-License-Identifier: Apache-2.0
// Members of the batch are shared out among LibTorch's threads: each is one item of the kernels.
#include "weft/layers/blocks/ring_attention.h"

#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "weft/attention/backends/host_memory.h"
#include "weft/attention/thread_pool.h"
#include "weft/core/error.h"
#include "weft/kernels/training/ring.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::optional<kernels::DType> ring_dtype(at::ScalarType type) {
  return type == at::kFloat      ? std::optional(kernels::DType::kFloat32)
         : type == at::kBFloat16 ? std::optional(kernels::DType::kBFloat16)
                                 : std::nullopt;
}

RingRows one_behind_the_other(const RingRows& rows) {
  return {rows.queries.contiguous(), rows.own.contiguous(), rows.text.contiguous(), rows.relay.contiguous(),
          rows.padding.defined() ? rows.padding.contiguous() : rows.padding};
}

/// `rows` are contiguous and outlive the call.
kernels::RingCall ring_call(const RingRows& rows, std::int64_t heads) {
  return {.dtype = *ring_dtype(rows.queries.scalar_type()),
          .queries = rows.queries.const_data_ptr(),
          .own = rows.own.const_data_ptr(),
          .text = rows.text.const_data_ptr(),
          .relay = rows.relay.const_data_ptr(),
          .hidden = rows.padding.defined() ? rows.padding.const_data_ptr<bool>() : nullptr,
          .length = rows.queries.size(1),
          .heads = heads,
          .head_dim = rows.queries.size(2) / heads};
}

template <typename Work>
void each_member(const at::Tensor& queries, const Work& work) {
  parallel_for(attention::kTorchThreads, queries.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t member = begin; member < end; ++member) {
      work(member);
    }
  });
}

at::Tensor ring_output(const RingRows& rows, std::int64_t heads) {
  at::Tensor output = at::empty_like(rows.queries);
  const kernels::RingCall call = ring_call(rows, heads);
  const kernels::InstructionSet isa = kernels::chosen_isa();
  void* const to = output.mutable_data_ptr();
  each_member(rows.queries, [&](std::int64_t member) { kernels::ring_forward(isa, call, member, to); });
  return output;
}

/// What of a call has no gradient.
struct RingPlan {
  at::Tensor padding;
  std::int64_t heads;
};

struct RingFunction : torch::autograd::Function<RingFunction> {
  /// Contiguous rows.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries, const at::Tensor& own,
                            const at::Tensor& text, const at::Tensor& relay, const RingPlan& plan) {
    context->save_for_backward({queries, own, text, relay, plan.padding});
    context->saved_data["heads"] = plan.heads;
    return ring_output({queries, own, text, relay, plan.padding}, plan.heads);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (at::GradMode::is_enabled()) {
      fail(ErrorKind::kUnsupported,
           "a Star-Transformer's ring has no second derivative: its backward pass is not differentiable");
    }
    const variable_list saved = context->get_saved_variables();
    const RingRows rows{saved[0], saved[1], saved[2], saved[3], saved[4]};
    const at::Tensor given = gradients[0].contiguous();
    variable_list results;
    for (std::size_t i = 0; i < 4; ++i) {
      results.push_back(at::empty_like(saved[i]));
    }
    const kernels::RingCall call = ring_call(rows, context->saved_data["heads"].toInt());
    const kernels::RingGradients to{.output = given.const_data_ptr(),
                                    .queries = results[0].mutable_data_ptr(),
                                    .own = results[1].mutable_data_ptr(),
                                    .text = results[2].mutable_data_ptr(),
                                    .relay = results[3].mutable_data_ptr()};
    const kernels::InstructionSet isa = kernels::chosen_isa();
    each_member(given, [&](std::int64_t member) { kernels::ring_backward(isa, call, member, to); });
    results.emplace_back();  // nothing for the plan
    return results;
  }
};

}  // namespace

bool takes_ring(const RingRows& rows, std::int64_t heads) {
  const at::ScalarType type = rows.queries.scalar_type();
  const std::optional<kernels::DType> dtype = ring_dtype(type);
  const bool is_alike =
      rows.own.scalar_type() == type && rows.text.scalar_type() == type && rows.relay.scalar_type() == type;
  return dtype && is_alike && rows.queries.size(1) > 0 && attention::is_in_host_memory(rows.queries) &&
         kernels::takes_ring(kernels::chosen_isa(), *dtype, heads, rows.queries.size(2) / heads);
}

at::Tensor ring_attention(const RingRows& rows, std::int64_t heads) {
  const RingRows ordered = one_behind_the_other(rows);
  if (!at::GradMode::is_enabled()) {
    return ring_output(ordered, heads);
  }
  return RingFunction::apply(ordered.queries, ordered.own, ordered.text, ordered.relay,
                             RingPlan{ordered.padding, heads});
}

}  // namespace weft::layers
