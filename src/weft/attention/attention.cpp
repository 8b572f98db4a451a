// SPDX-License-Identifier: Apache-2.0
// The front door: says what does not fit, applies autocast, chooses a path, and goes to it.
#include "weft/attention/attention.h"

#include <ATen/record_function.h>

#include <cmath>

#include "weft/attention/autocast.h"
#include "weft/attention/backends/backend.h"
#include "weft/attention/backends/blocks/decode.h"
#include "weft/attention/distance_table.h"
#include "weft/attention/operator/autograd.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/operator.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/row_positions.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

// A checked call. One that somebody traces goes through the dispatcher, so that they see it.
Forward computed(const Call& call) {
  const auto is_given_and_traced = [](const at::Tensor& tensor) { return tensor.defined() && !is_plain(tensor); };
  const bool is_traced = !is_plain(call.query) || !is_plain(call.key) || !is_plain(call.value) ||
                         is_given_and_traced(call.distances.scores) || is_given_and_traced(call.positions.queries);
  if (is_traced) {
    return dispatch_forward(arguments_of(call));
  }
  RECORD_FUNCTION("weft::attention", c10::ArrayRef<const c10::IValue>());  // for profilers, as the dispatcher does
  return asks_for_gradients(call) ? differentiable(call) : run_forward(call);
}

}  // namespace

AttentionResult attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const LayoutPtr& layout, const AttentionOptions& options) {
  Call call{.query = query,
            .key = key,
            .value = value,
            .key_keep = options.key_keep,
            .layout = layout,
            .dropout = {static_cast<float>(options.dropout), options.seed, 0},
            .positions = options.positions,
            .path = options.path};
  check_call(call);
  call.distances = table_of(options, call);
  check_positions(call);  // not beside a table
  call.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(3))));
  check_numbers(call.scale, options.dropout);
  for (at::Tensor* tensor : {&call.query, &call.key, &call.value}) {
    *tensor = in_autocast_type(*tensor);
  }
  if (call.path == Path::kAuto && is_decoding(call) && is_plain(call.query)) {
    RECORD_FUNCTION("weft::attention", c10::ArrayRef<const c10::IValue>());
    if (const auto decoded = run_decoding(call)) {
      return {decoded->forward.output, decoded->forward.log_sum_exp, Path::kDecode, decoded->backend->name};
    }
  }
  choose_way(call, Asker::kFrontDoor);
  if (call.taken.way->backward == nullptr) {  // autograd follows it by itself
    return {in_memory_order(call.taken.way->forward(call).output), {}, call.path, call.taken.backend->name};
  }
  const Forward result = computed(call);
  return {result.output, result.log_sum_exp, call.path, call.taken.backend->name};
}

}  // namespace weft::attention
