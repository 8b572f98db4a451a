// SPDX-License-Identifier: Apache-2.0
// What an autograd function keeps of a call besides its tensors, from the forward pass to the backward pass.
#pragma once

#include <utility>

#include <ATen/core/ivalue.h>

namespace weft::attention {

template <typename Value>
struct KeptValue : torch::CustomClassHolder {
  explicit KeptValue(Value given) : value(std::move(given)) {}
  Value value;
};

/// For AutogradContext::saved_data.
template <typename Value>
c10::IValue kept(Value value) {
  return c10::IValue::make_capsule(c10::make_intrusive<KeptValue<Value>>(std::move(value)));
}

/// What kept() was given. The types must be the same.
template <typename Value>
const Value& kept_in(const c10::IValue& kept) {
  return c10::static_intrusive_pointer_cast<KeptValue<Value>>(kept.toCapsule())->value;
}

}  // namespace weft::attention
