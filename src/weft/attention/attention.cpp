// SPDX-License-Identifier: Apache-2.0
// The front door: says what does not fit, applies autocast, chooses a path, and calls the operator.
#include "weft/attention/attention.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>

#include "weft/attention/blocks/decode.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/operator.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/position_bias.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

at::Tensor autocast(const at::Tensor& tensor) {
  const at::DeviceType device = tensor.device().type();
  if (tensor.scalar_type() == at::kDouble || !at::autocast::is_autocast_enabled(device)) {
    return tensor;
  }
  return tensor.to(at::autocast::get_autocast_dtype(device));
}

AttentionResult device_dense(const Call& call) {
  const bool grouped = call.query.size(1) != call.key.size(1);
  return {in_memory_order(at::scaled_dot_product_attention(call.query, call.key, call.value, {}, 0.0,
                                                           !call.layout->is_full(), call.scale, grouped)),
          {},
          Path::kDense};
}

}  // namespace

AttentionResult attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const LayoutPtr& layout, const AttentionOptions& options) {
  check_tensors(query, key, value, options.key_keep);
  require(layout != nullptr, "attention: a layout must be given");
  layout->check(query.size(0), query.size(1), query.size(2), key.size(2));
  Call call{autocast(query), autocast(key), autocast(value), options.key_keep, layout};
  call.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(3))));
  check_numbers(call.scale, options.dropout);
  call.dropout = {static_cast<float>(options.dropout), options.seed, 0};
  refuse_gradient_of(options.slopes);
  call.slopes = checked_slopes(options.slopes, query);
  if (options.path == Path::kAuto && is_decoding(call)) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    if (const auto decoded = decode_forward(call)) {
      return {in_memory_order(decoded->output), decoded->log_sum_exp, Path::kDecode};
    }
  }
  const Path path = options.path == Path::kAuto ? choose_path(call) : options.path;
  check_path(call, path);
  if (path == Path::kDense && !call.query.is_cpu()) {
    return device_dense(call);
  }
  const Forward result = call_operator(call, path);
  return {result.output, result.log_sum_exp, path};
}

}  // namespace weft::attention
