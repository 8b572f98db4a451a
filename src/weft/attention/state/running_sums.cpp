// SPDX-License-Identifier: Apache-2.0
// Appended tokens are summed into a tensor of their own, which replaces the old one when they count.
#include "weft/attention/state/running_sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <utility>

#include "weft/attention/state/state_checks.h"

namespace weft::attention {
namespace {

/// Both that are held, those that count and those that do not yet.
template <typename Change>
void change_defined(at::Tensor& sums, at::Tensor& appended, const Change& change) {
  for (at::Tensor* tensor : {&sums, &appended}) {
    if (tensor->defined()) {
      *tensor = change(*tensor);
    }
  }
}

}  // namespace

void RunningSums::append(const at::Tensor& keys, const at::Tensor& values) { append(keys, values, {}); }

void RunningSums::append(const at::Tensor& keys, const at::Tensor& values, const at::Tensor& kept) {
  const at::Tensor added = at::matmul(keys.transpose(-2, -1), values);
  require(!sums_.defined() || (sums_.sizes() == added.sizes() && sums_.scalar_type() == added.scalar_type() &&
                               sums_.device() == added.device()),
          "decoding state, layer ", layer_, ": holds sums ", sums_.defined() ? sums_.sizes() : at::IntArrayRef(),
          ", cannot append ", added.sizes(), " in ", added.scalar_type(), " on ", added.device());
  const at::Tensor before = sums_.defined() && kept.defined() ? sums_ * kept : sums_;
  appended_ = before.defined() ? before + added : added;
  pending_ = keys.size(-2);
}

void RunningSums::advance() {
  const at::Tensor appended = std::exchange(appended_, at::Tensor());
  sums_ = pending_ > 0 ? appended : sums_;
  length_ += pending_;
  pending_ = 0;
}

void RunningSums::reorder(const at::Tensor& rows) {
  if (length_ + pending_ > 0) {
    check_rows(rows, sums_.defined() ? sums_ : appended_, concat("decoding state, layer ", layer_));
    change_defined(sums_, appended_, [&](const at::Tensor& tensor) { return tensor.index_select(0, rows); });
  }
}

void RunningSums::limit(std::int64_t tokens) {
  fail(ErrorKind::kUnsupported, "decoding state, layer ", layer_, ": cannot remember the last ", tokens,
       " tokens alone, because its running sums keep no single token");
}

void RunningSums::truncate(std::int64_t length) {
  require(length >= 0 && length <= length_, "decoding state, layer ", layer_, ": cannot cut ", length_, " tokens to ",
          length);
  if (length == length_) {
    appended_.reset();
    pending_ = 0;
    return;
  }
  if (length > 0) {
    fail(ErrorKind::kUnsupported, "decoding state, layer ", layer_, ": cannot cut ", length_, " tokens to ", length,
         ", because its running sums keep no single token; begin again with the first ", length);
  }
  *this = RunningSums(layer_);
}

void RunningSums::detach() {
  change_defined(sums_, appended_, [](const at::Tensor& tensor) { return tensor.detach(); });
}

std::size_t RunningSums::bytes() const {
  return (sums_.defined() ? sums_.nbytes() : 0) + (appended_.defined() ? appended_.nbytes() : 0);
}

NamedTensors RunningSums::save() const {
  return sums_.defined() ? NamedTensors{{"sums", sums_.clone()}} : NamedTensors();
}

void RunningSums::load(const NamedTensors& tensors, std::int64_t length) {
  const bool empty = length == 0 && tensors.empty();
  const at::Tensor sums = named(tensors, "sums");
  const bool fits = length > 0 && tensors.size() == 1 && sums.defined() && sums.dim() == 4 &&
                    (sums.scalar_type() == at::kFloat || sums.scalar_type() == at::kDouble);
  if (!empty && !fits) {
    fail(ErrorKind::kFormat, "decoding state, layer ", layer_,
         ": expected `sums` [batch, heads, features, columns] of ", length, " tokens in float32 or float64");
  }
  at::Tensor held = fits ? sums.clone() : at::Tensor();
  *this = RunningSums(layer_);
  sums_ = std::move(held);
  length_ = length;
}

}  // namespace weft::attention
