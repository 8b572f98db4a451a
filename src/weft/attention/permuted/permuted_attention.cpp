// SPDX-License-Identifier: Apache-2.0
// With o_r and l_r the output and the log-sum-exp of part r, and w_r = softmax_r(l) of a row,
//   o = sum_r w_r o_r,   dV_r = P_r^T (w_r dO),   dS_r = P_r ((w_r dO) V_r^T - (w_r dO) . o),   P_r = exp(S_r - l_r),
// so that the backward pass of part r, given o in place of o_r and w_r dO in place of dO, makes exactly its share of
// the gradients. The weights are apart from P_r because scores near -1e5 leave a log-sum-exp two digits in float32.
#include "weft/attention/permuted/permuted_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/attention/distance_table.h"
#include "weft/attention/kept_value.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/permuted/row_order.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kNoScore = -1e30;  // stands for the log-sum-exp of a row that sees nothing: no infinity is subtracted

Call call_of_part(const PermutedCall& all, std::size_t number) {
  const PermutedPart& part = all.parts[number];
  const DropoutSeed seed = all.seed.derived(static_cast<std::uint64_t>(number));
  Call call{.query = rows_at(all.query, part.queries),
            .key = rows_at(all.key, part.keys),
            .value = rows_at(all.value, part.keys),
            .key_keep = part.key_keep,
            .layout = part.layout,
            .scale = all.scale,
            .dropout = {static_cast<float>(all.dropout), seed, 0},
            .distances = part.distances,
            .positions = part.positions};
  check_call(call);
  return call;
}

/// A softmax over the parts so far: sum_r exp(l_r - top) o_r, the largest l_r, sum_r exp(l_r - top).
struct MergedParts {
  at::Tensor mixed;  // [B, H, Q, D_v]
  at::Tensor top;    // [B, H, Q]
  at::Tensor total;  // [B, H, Q]
};

void merge(MergedParts& sums, const at::Tensor& output, const at::Tensor& log_sum_exp) {
  const at::Tensor lifted = log_sum_exp.clamp_min(kNoScore);
  if (!sums.mixed.defined()) {
    sums = {output.to(log_sum_exp.scalar_type()), lifted, (log_sum_exp - lifted).exp_()};
    return;
  }
  const at::Tensor top = at::maximum(sums.top, lifted);
  const at::Tensor old_factor = (sums.top - top).exp_();
  const at::Tensor new_factor = (log_sum_exp - top).exp_();
  sums.mixed = sums.mixed * old_factor.unsqueeze(-1) + output * new_factor.unsqueeze(-1);
  sums.total = sums.total * old_factor + new_factor;
  sums.top = top;
}

/// What the backward pass needs beside the inputs.
struct PermutedForward {
  at::Tensor output;                    // [B, H, Q, D_v]
  std::vector<at::Tensor> log_sum_exp;  // of each part, [B, H, P] by place
  std::vector<Taken> taken;             // of each part
};

PermutedForward forward_of(const PermutedCall& all) {
  PermutedForward found;
  MergedParts sums;
  for (std::size_t number = 0; number < all.parts.size(); ++number) {
    const at::Tensor& places = all.parts[number].places;
    Call call = call_of_part(all, number);
    choose_way(call, Asker::kOperator);
    found.taken.push_back(call.taken);
    const Forward part = run_forward(call);
    merge(sums, rows_at(part.output, places), numbers_at(part.log_sum_exp, places));
    found.log_sum_exp.push_back(part.log_sum_exp);
  }
  sums.total.clamp_min_(std::numeric_limits<float>::min());  // of a row that sees nothing, whose sum is 0
  const at::Tensor output = (sums.mixed / sums.total.unsqueeze(-1)).to(all.query.scalar_type());
  found.output = in_memory_order(output);
  return found;
}

/// w_r of each row: [B, H, Q] for each part.
std::vector<at::Tensor> weights_of(const PermutedCall& all, const std::vector<at::Tensor>& log_sum_exp) {
  std::vector<at::Tensor> weights;
  at::Tensor top;
  for (std::size_t number = 0; number < all.parts.size(); ++number) {
    weights.push_back(numbers_at(log_sum_exp[number], all.parts[number].places));
    top = top.defined() ? at::maximum(top, weights.back()) : weights.back().clamp_min(kNoScore);
  }
  at::Tensor total;
  for (at::Tensor& weight : weights) {
    weight = (weight - top).exp_();
    total = total.defined() ? total + weight : weight;
  }
  total = total.clamp_min(std::numeric_limits<float>::min());
  for (at::Tensor& weight : weights) {
    weight = weight / total;
  }
  return weights;
}

/// Whether keys lie as queries do, each row at one place: a gradient is read from its place then, which is faster than
/// to be added to its row.
bool is_one_order(const PermutedPart& part) {
  return !part.keys.defined() || (part.keys.is_same(part.queries) && part.keys.sizes() == part.places.sizes());
}

/// w_r of each place, of the sizes of `like`. Weight 0 keeps what a place that no row reads sees out of the gradients.
at::Tensor weight_by_place(const at::Tensor& weight, const at::Tensor& places, const at::Tensor& like) {
  return !places.defined() ? weight
                           : at::zeros(like.sizes(), like.options()).scatter_(2, places.expand(weight.sizes()), weight);
}

/// dQ, dK and dV in the dtype of sums, and the gradient of each distance table, in the order of the parts with one.
struct PermutedGradients {
  Gradients rows;
  variable_list tables;
};

PermutedGradients backward_of(const PermutedCall& all, const PermutedForward& forward,
                              const at::Tensor& output_gradient) {
  const auto room_for = [](const at::Tensor& tensor) {
    return at::zeros(tensor.sizes(), tensor.options().dtype(accumulation_type(tensor)));
  };
  Gradients sums{room_for(all.query), room_for(all.key), room_for(all.value)};
  variable_list tables;
  const std::vector<at::Tensor> weights = weights_of(all, forward.log_sum_exp);
  for (std::size_t number = 0; number < all.parts.size(); ++number) {
    const PermutedPart& part = all.parts[number];
    Call call = call_of_part(all, number);
    call.taken = forward.taken[number];
    call.asks_distances = call.distances.scores.defined() && call.distances.scores.requires_grad();
    const at::Tensor& log_sum_exp = forward.log_sum_exp[number];
    const at::Tensor weight = weight_by_place(weights[number], part.places, log_sum_exp);
    const at::Tensor incoming = rows_at(output_gradient, part.queries) * weight.unsqueeze(-1);
    const Forward whole{rows_at(forward.output, part.queries), log_sum_exp};
    const Gradients found = run_backward(call, whole, incoming.to(all.query.scalar_type()));
    sums.query.add_(rows_at(found.query, part.places));
    if (is_one_order(part)) {
      sums.key.add_(rows_at(found.key, part.places));
      sums.value.add_(rows_at(found.value, part.places));
    } else {
      add_rows_at(sums.key, part.keys, found.key.to(sums.key.scalar_type()));
      add_rows_at(sums.value, part.keys, found.value.to(sums.value.scalar_type()));
    }
    if (call.distances.scores.defined()) {
      tables.push_back(found.distances);
    }
  }
  return {std::move(sums), std::move(tables)};
}

/// Scores of the distance tables, one for each part that has one.
variable_list tables_of(const PermutedCall& call) {
  variable_list tables;
  for (const PermutedPart& part : call.parts) {
    if (part.distances.scores.defined()) {
      tables.push_back(part.distances.scores);
    }
  }
  return tables;
}

/// Puts `tables` where tables_of() found them: in the parts that `has_table` names.
void set_tables(PermutedCall& call, const variable_list& tables, const std::vector<bool>& has_table) {
  std::size_t next = 0;
  for (std::size_t number = 0; number < call.parts.size(); ++number) {
    if (has_table[number]) {
      call.parts[number].distances.scores = tables[next++];
    }
  }
}

/// A call without the tensors that autograd keeps, and who computed its parts.
struct KeptPermuted {
  PermutedCall call;
  std::vector<Taken> taken;
  std::vector<bool> has_table;  // of each part
};

struct PermutedFunction : torch::autograd::Function<PermutedFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, at::TensorList tables, const PermutedCall& call) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const PermutedForward found = forward_of(call);
    variable_list saved = {query, key, value, found.output};
    saved.insert(saved.end(), found.log_sum_exp.begin(), found.log_sum_exp.end());
    saved.insert(saved.end(), tables.begin(), tables.end());
    context->save_for_backward(saved);
    KeptPermuted state{call, found.taken, {}};
    state.call.query = state.call.key = state.call.value = at::Tensor();
    for (PermutedPart& part : state.call.parts) {
      state.has_table.push_back(part.distances.scores.defined());
      part.distances.scores = at::Tensor();
    }
    context->saved_data["call"] = kept(std::move(state));
    return found.output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (at::GradMode::is_enabled()) {
      fail(ErrorKind::kUnsupported,
           "attention over permuted rows has no second derivative: its backward pass is not differentiable");
    }
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    KeptPermuted state = kept_in<KeptPermuted>(context->saved_data["call"]);
    PermutedCall& call = state.call;
    call.query = saved[0];
    call.key = saved[1];
    call.value = saved[2];
    const auto behind_sums = saved.begin() + 4 + std::ssize(call.parts);
    set_tables(call, {behind_sums, saved.end()}, state.has_table);
    const PermutedGradients found =
        backward_of(call, {saved[3], {saved.begin() + 4, behind_sums}, std::move(state.taken)}, gradients[0]);
    variable_list given = {found.rows.query.to(call.query.scalar_type()), found.rows.key.to(call.key.scalar_type()),
                           found.rows.value.to(call.value.scalar_type())};
    given.insert(given.end(), found.tables.begin(), found.tables.end());
    given.emplace_back();  // of the call
    return given;
  }
};

void check_part(const PermutedCall& call, const PermutedPart& part) {
  const auto fits = [&call](const at::Tensor& rows, const at::Tensor& like) {
    return rows.defined() && rows.scalar_type() == at::kLong && rows.dim() == 3 && rows.device() == like.device() &&
           (rows.size(0) == 1 || rows.size(0) == call.query.size(0)) &&
           (rows.size(1) == 1 || rows.size(1) == like.size(1));
  };
  if (!part.queries.defined() && !part.places.defined() && !part.keys.defined()) {
    return;  // the order of the text
  }
  require(fits(part.queries, call.query) && fits(part.places, call.query) && fits(part.keys, call.key) &&
              part.places.size(2) == call.query.size(2),
          "attention: rows and places of a permuted part must be int64 [batch or 1, heads or 1, places] for query ",
          call.query.sizes(), " and key ", call.key.sizes());
}

}  // namespace

at::Tensor permuted_attention(const PermutedCall& given) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  check_tensors(given.query, given.key, given.value, {});
  check_numbers(given.scale, given.dropout);
  require(!given.parts.empty(), "attention: a permuted call needs at least one part, found none");
  PermutedCall call = given;
  for (PermutedPart& part : call.parts) {
    check_part(call, part);
    part.distances = table_of({.distances = part.distances}, {.query = call.query});
  }
  const variable_list tables = tables_of(call);
  const bool is_followed =
      any_is_followed({call.query, call.key, call.value}) ||
      std::any_of(tables.begin(), tables.end(), [](const at::Tensor& table) { return any_is_followed({table}); });
  if (is_followed) {
    return PermutedFunction::apply(call.query, call.key, call.value, at::TensorList(tables), call);
  }
  const at::NoGradGuard without_gradients;
  return forward_of(call).output;
}

}  // namespace weft::attention
