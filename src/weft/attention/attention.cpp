// SPDX-License-Identifier: Apache-2.0
// The front door: says what does not fit, applies autocast, chooses a path, and calls the operator.
#include "weft/attention/attention.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>

#include "weft/attention/blocks/decode.h"
#include "weft/attention/operator/operator.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/position_bias.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

void check_tensors(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  require(query.defined() && key.defined() && value.defined(), "attention: query, key and value must be given");
  require(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
          "attention: query, key and value must be [batch, heads, length, head_dim], found ", query.sizes(), ", ",
          key.sizes(), " and ", value.sizes());
  require(query.scalar_type() == key.scalar_type() && key.scalar_type() == value.scalar_type(),
          "attention: query, key and value must have one dtype, found ", query.scalar_type(), ", ", key.scalar_type(),
          " and ", value.scalar_type());
  require(at::isFloatingType(query.scalar_type()), "attention: query must have a floating dtype, found ",
          query.scalar_type());
  require(query.device() == key.device() && key.device() == value.device(),
          "attention: query, key and value must be on one device, found ", query.device(), ", ", key.device(), " and ",
          value.device());
}

void check_sizes(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  require(key.size(0) == query.size(0) && value.size(0) == query.size(0), "attention: query ", query.sizes(), ", key ",
          key.sizes(), " and value ", value.sizes(), " differ in batch");
  require(key.size(3) == query.size(3), "attention: query ", query.sizes(), " and key ", key.sizes(),
          " differ in head_dim");
  require(query.size(3) > 0 && value.size(3) > 0, "attention: head_dim must be positive, found query ", query.sizes(),
          " and value ", value.sizes());
  require(key.size(1) == value.size(1) && key.size(2) == value.size(2), "attention: key ", key.sizes(), " and value ",
          value.sizes(), " differ in heads or length");
  require(key.size(1) > 0 && query.size(1) % key.size(1) == 0, "attention: the heads of query ", query.sizes(),
          " must be a multiple of those of key ", key.sizes());
}

void check_options(const at::Tensor& key, const AttentionOptions& options) {
  require(options.dropout >= 0 && options.dropout < 1, "attention: dropout must be in [0, 1), found ", options.dropout);
  require(!options.scale || std::isfinite(*options.scale), "attention: scale must be finite");
  if (!options.key_keep.defined()) {
    return;
  }
  const at::Tensor& keep = options.key_keep;
  require(keep.dim() == 2 && keep.size(0) == key.size(0) && keep.size(1) == key.size(2),
          "attention: key_keep must be [batch, key length] = [", key.size(0), ", ", key.size(2), "], found ",
          keep.sizes());
  require(keep.scalar_type() == at::kBool && keep.device() == key.device(), "attention: key_keep must be bool on ",
          key.device(), ", found ", keep.scalar_type(), " on ", keep.device());
}

at::Tensor autocast(const at::Tensor& tensor) {
  const at::DeviceType device = tensor.device().type();
  if (tensor.scalar_type() == at::kDouble || !at::autocast::is_autocast_enabled(device)) {
    return tensor;
  }
  return tensor.to(at::autocast::get_autocast_dtype(device));
}

AttentionResult device_dense(const Call& call) {
  const bool grouped = call.query.size(1) != call.key.size(1);
  return {at::scaled_dot_product_attention(call.query, call.key, call.value, {}, 0.0, !call.layout->is_full(),
                                           call.scale, grouped),
          {},
          Path::kDense};
}

}  // namespace

AttentionResult attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const LayoutPtr& layout, const AttentionOptions& options) {
  check_tensors(query, key, value);
  check_sizes(query, key, value);
  check_options(key, options);
  require(layout != nullptr, "attention: a layout must be given");
  layout->check(query.size(0), query.size(1), query.size(2), key.size(2));
  Call call{autocast(query), autocast(key), autocast(value), options.key_keep, layout};
  call.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(3))));
  call.dropout = {static_cast<float>(options.dropout), options.seed, 0};
  refuse_gradient_of(options.slopes);
  call.slopes = checked_slopes(options.slopes, query);
  if (options.path == Path::kAuto && is_decoding(call)) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    if (const auto decoded = decode_forward(call)) {
      return {decoded->output, decoded->log_sum_exp, Path::kDecode};
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
