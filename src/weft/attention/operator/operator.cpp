// SPDX-License-Identifier: Apache-2.0
// From a call to the arguments of the schema and back, and the way through the dispatcher.
#include "weft/attention/operator/operator.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <utility>

#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/layout_tensors.h"
#include "weft/attention/operator/paths.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

OptionalTensor optional(const at::Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; }

RowPositions positions_of(const Arguments& arguments) {
  const auto given = [](const OptionalTensor& tensor) { return tensor.value_or(at::Tensor()); };
  return {given(arguments.query_positions), given(arguments.key_positions), given(arguments.first_positions),
          arguments.causal, arguments.not_self};
}

}  // namespace

const c10::TypedOperatorHandle<ForwardSignature>& forward_operator() {
  static const auto handle =
      c10::Dispatcher::singleton().findSchemaOrThrow("weft::attention", "").typed<ForwardSignature>();
  return handle;
}

const c10::TypedOperatorHandle<BackwardSignature>& backward_operator() {
  static const auto handle =
      c10::Dispatcher::singleton().findSchemaOrThrow("weft::attention_backward", "").typed<BackwardSignature>();
  return handle;
}

DropoutSeed seed_of(const Arguments& arguments) {
  require(arguments.draws == static_cast<std::int64_t>(DropoutDraws::kFirst) ||
              arguments.draws == static_cast<std::int64_t>(DropoutDraws::kSecond),
          "attention: draws must be 1 or 2, found ", arguments.draws);
  return {static_cast<std::uint64_t>(arguments.seed), static_cast<DropoutDraws>(arguments.draws)};
}

Call call_of(const Arguments& arguments) {
  check_numbers(arguments.scale, arguments.dropout);
  Call call{.query = arguments.query,
            .key = arguments.key,
            .value = arguments.value,
            .key_keep = arguments.key_keep.value_or(at::Tensor()),
            .layout = from_tensors(arguments.layout, arguments.sizes),
            .scale = arguments.scale,
            .dropout = {static_cast<float>(arguments.dropout), seed_of(arguments), 0},
            .distances = {arguments.distances.value_or(at::Tensor()), arguments.distance_zero},
            .positions = positions_of(arguments),
            .asks_distances = arguments.asks_distances && arguments.distances.has_value(),
            .path = path_of(arguments.path)};
  check_call(call);
  choose_way(call, Asker::kOperator);
  return call;
}

Arguments arguments_of(const Call& call) {
  require(!call.relative.query.defined(),
          "attention: the operator of the dispatcher has no relative term; call relative_attention()");
  LayoutTensors layout = to_tensors(call.layout);
  return {.query = call.query,
          .key = call.key,
          .value = call.value,
          .key_keep = optional(call.key_keep),
          .layout = std::move(layout.tensors),
          .sizes = std::move(layout.sizes),
          .scale = call.scale,
          .dropout = static_cast<double>(call.dropout.probability),
          .seed = static_cast<std::int64_t>(call.dropout.seed.number),
          .path = to_string(call.path),
          .distances = optional(call.distances.scores),
          .distance_zero = call.distances.zero,
          .query_positions = optional(call.positions.queries),
          .key_positions = optional(call.positions.keys),
          .first_positions = optional(call.positions.first),
          .causal = call.positions.causal,
          .not_self = call.positions.not_self,
          .draws = static_cast<std::int64_t>(call.dropout.seed.draws),
          .asks_distances = call.asks_distances};
}

Forward dispatch_forward(const Arguments& arguments) {
  auto [output, log_sum_exp] = forward_operator().call(
      arguments.query, arguments.key, arguments.value, arguments.key_keep, arguments.layout, arguments.sizes,
      arguments.scale, arguments.dropout, arguments.seed, arguments.path, arguments.distances, arguments.distance_zero,
      arguments.query_positions, arguments.key_positions, arguments.first_positions, arguments.causal,
      arguments.not_self, arguments.draws);
  return {output, log_sum_exp};
}

Gradients dispatch_backward(const Arguments& arguments, const Forward& forward, const at::Tensor& output_gradient) {
  auto [query, key, value, distances] = backward_operator().call(
      output_gradient, arguments.query, arguments.key, arguments.value, forward.output, forward.log_sum_exp,
      arguments.key_keep, arguments.layout, arguments.sizes, arguments.scale, arguments.dropout, arguments.seed,
      arguments.path, arguments.distances, arguments.distance_zero, arguments.query_positions, arguments.key_positions,
      arguments.first_positions, arguments.causal, arguments.not_self, arguments.draws, arguments.asks_distances);
  return {query, key, value, distances};
}

bool is_plain(const at::Tensor& tensor) {
  const c10::impl::LocalDispatchKeySet local = c10::impl::tls_local_dispatch_key_set();
  const c10::DispatchKeySet above = ((tensor.key_set() | local.included_) - local.excluded_) -
                                    c10::autograd_dispatch_keyset_with_ADInplaceOrView - c10::autocast_dispatch_keyset -
                                    c10::DispatchKeySet(c10::DispatchKey::BackendSelect);
  return !tensor.is_meta() && c10::toFunctionalityKey(above.highestPriorityTypeId()) == c10::DispatchKey::Dense;
}

}  // namespace weft::attention
