// SPDX-License-Identifier: Apache-2.0
// Splitting heads as a custom autograd function.
#include "weft/layers/attention/split_heads.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Views of a fused [B, N, heads * D] as [B, H, N, D], [B, H_kv, N, D] and [B, H_kv, N, D].
Heads views(const at::Tensor& fused, HeadCounts heads) {
  const at::Tensor all =
      fused.view({fused.size(0), fused.size(1), heads.query + 2 * heads.key_value, -1}).transpose(1, 2);
  return {all.narrow(1, 0, heads.query), all.narrow(1, heads.query, heads.key_value),
          all.narrow(1, heads.query + heads.key_value, heads.key_value)};
}

// The gradient of a part into its place; a rotation is undone by its inverse, which is its transpose. A part that
// nobody used has gradient zero.
void write(const at::Tensor& gradient, const at::Tensor& destination, const Rotation& rotation) {
  if (!gradient.defined()) {
    destination.zero_();
  } else if (rotation.defined()) {
    rotate(gradient, rotation, true, destination);
  } else {
    destination.copy_(gradient);
  }
}

/// The parts, below autograd's view tracking: they are results, not views that autograd follows.
Heads split(const at::Tensor& fused, HeadCounts heads, const Rotation& rotation) {
  const at::AutoDispatchBelowADInplaceOrView untracked;
  Heads parts = views(fused.contiguous(), heads);
  if (rotation.defined()) {
    parts.query = rotate(parts.query, rotation, false);
    parts.key = rotate(parts.key, rotation, false);
  }
  return parts;
}

struct SplitHeadsFunction : torch::autograd::Function<SplitHeadsFunction> {
  static variable_list forward(AutogradContext* context, const at::Tensor& fused, HeadCounts heads,
                               const Rotation& rotation) {
    // A part without a gradient stays undefined, instead of a tensor of zeros that would be read and copied.
    context->set_materialize_grads(false);
    context->saved_data["heads"] = heads.query;
    context->saved_data["key_value_heads"] = heads.key_value;
    context->saved_data["shape"] = fused.sizes().vec();
    context->saved_data["options"] = fused.scalar_type();
    context->save_for_backward({rotation.cosine, rotation.sine});
    const Heads parts = split(fused, heads, rotation);
    return {parts.query, parts.key, parts.value};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Rotation rotation{saved[0], saved[1]};
    const HeadCounts heads{context->saved_data["heads"].toInt(), context->saved_data["key_value_heads"].toInt()};
    // The device comes with the gradients, of which at least one is there.
    at::TensorOptions options(context->saved_data["options"].toScalarType());
    for (const at::Tensor& gradient : gradients) {
      options = gradient.defined() ? options.device(gradient.device()) : options;
    }
    const at::Tensor fused = at::empty(context->saved_data["shape"].toIntVector(), options);
    const Heads parts = views(fused, heads);
    write(gradients[0], parts.query, rotation);
    write(gradients[1], parts.key, rotation);
    write(gradients[2], parts.value, {});
    return {fused, {}, {}};
  }
};

}  // namespace

Heads split_heads(const at::Tensor& fused, HeadCounts heads, const Rotation& rotation) {
  if (!at::GradMode::is_enabled()) {
    return split(fused, heads, rotation);
  }
  const variable_list parts = SplitHeadsFunction::apply(fused, heads, rotation);
  return {parts[0], parts[1], parts[2]};
}

at::Tensor with_factor(const at::Tensor& queries, double factor) { return factor == 1.0 ? queries : queries * factor; }

}  // namespace weft::layers
