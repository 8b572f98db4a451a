// SPDX-License-Identifier: Apache-2.0
// The door of sums that forget, and what is left of keys.
#include "weft/attention/mechanisms/linear/decayed_product.h"

#include <ATen/TensorOperators.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "weft/attention/backends/list.h"

namespace weft::attention {

at::Tensor decayed_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values,
                           const at::Tensor& log_gates, const at::Tensor& sums) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const DecayedCall call{rows, keys, values, log_gates, sums};
  return backend_for(&Backend::decayed, call, "the product that forgets").decayed.forward(call);
}

Decayed decayed_keys(const at::Tensor& keys, const at::Tensor& log_gates) {
  const at::Tensor level = log_gates.unsqueeze(-1).cumsum(-2, at::kDouble);
  const at::Tensor last = level.narrow(-2, level.size(-2) - 1, 1);
  return {keys * (last - level).to(keys.scalar_type()).exp(), last.to(keys.scalar_type()).exp()};
}

}  // namespace weft::attention
