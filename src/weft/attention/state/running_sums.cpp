// SPDX-License-Identifier: Apache-2.0
// Appended tokens are summed into a tensor of their own, which replaces the old one when they count.
#include "weft/attention/state/running_sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <initializer_list>
#include <utility>

#include "weft/attention/state/state_checks.h"

namespace weft::attention {
namespace {

bool is_sums(const at::Tensor& tensor) {
  return tensor.defined() && tensor.dim() == 4 &&
         (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble);
}

/// Or there is none.
bool is_level_of(const at::Tensor& level, const at::Tensor& sums) {
  return !level.defined() || (level.scalar_type() == sums.scalar_type() &&
                              level.sizes() == at::IntArrayRef({sums.size(0), sums.size(1), 1, 1}));
}

/// All that are held, of tokens that count and of those that do not yet.
template <typename Change>
void change_defined(std::initializer_list<at::Tensor*> tensors, const Change& change) {
  for (at::Tensor* tensor : tensors) {
    if (tensor->defined()) {
      *tensor = change(*tensor);
    }
  }
}

}  // namespace

void RunningSums::append(const at::Tensor& keys, const at::Tensor& values) { append(keys, values, SumChange{}); }

void RunningSums::append(const at::Tensor& keys, const at::Tensor& values, const SumChange& change) {
  const at::Tensor added = at::matmul(keys.transpose(-2, -1), values);
  require(!sums_.defined() || (sums_.sizes() == added.sizes() && sums_.scalar_type() == added.scalar_type() &&
                               sums_.device() == added.device()),
          "decoding state, layer ", layer_, ": holds sums ", sums_.defined() ? sums_.sizes() : at::IntArrayRef(),
          ", cannot append ", added.sizes(), " in ", added.scalar_type(), " on ", added.device());
  const at::Tensor before = sums_.defined() && change.kept.defined() ? sums_ * change.kept : sums_;
  appended_ = before.defined() ? before + added : added;
  appended_level_ = change.level;
  pending_ = keys.size(-2);
}

void RunningSums::advance() {
  const at::Tensor appended = std::exchange(appended_, at::Tensor());
  const at::Tensor level = std::exchange(appended_level_, at::Tensor());
  sums_ = pending_ > 0 ? appended : sums_;
  level_ = pending_ > 0 ? level : level_;
  length_ += pending_;
  pending_ = 0;
}

void RunningSums::reorder(const at::Tensor& rows) {
  if (length_ + pending_ > 0) {
    check_rows(rows, sums_.defined() ? sums_ : appended_, concat("decoding state, layer ", layer_));
    change_defined({&sums_, &appended_, &level_, &appended_level_},
                   [&](const at::Tensor& tensor) { return tensor.index_select(0, rows); });
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
    appended_level_.reset();
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
  change_defined({&sums_, &appended_}, [](const at::Tensor& tensor) { return tensor.detach(); });
}

std::size_t RunningSums::bytes() const {
  std::size_t total = 0;
  for (const at::Tensor* tensor : {&sums_, &appended_, &level_, &appended_level_}) {
    total += tensor->defined() ? tensor->nbytes() : 0;
  }
  return total;
}

NamedTensors RunningSums::save() const {
  NamedTensors tensors;
  if (sums_.defined()) {
    tensors.emplace_back("sums", sums_.clone());
  }
  if (level_.defined()) {
    tensors.emplace_back("level", level_.clone());
  }
  return tensors;
}

void RunningSums::load(const NamedTensors& tensors, std::int64_t length) {
  const bool empty = length == 0 && tensors.empty();
  const at::Tensor sums = named(tensors, "sums");
  const at::Tensor level = named(tensors, "level");
  const std::size_t count = level.defined() ? 2 : 1;
  const bool fits = length > 0 && tensors.size() == count && is_sums(sums) && is_level_of(level, sums);
  if (!empty && !fits) {
    fail(ErrorKind::kFormat, "decoding state, layer ", layer_,
         ": expected `sums` [batch, heads, features, columns] of ", length,
         " tokens in float32 or float64, and `level` [batch, heads, 1, 1] in the same where they have one");
  }
  *this = RunningSums(layer_);
  sums_ = fits ? sums.clone() : at::Tensor();
  level_ = level.defined() ? level.clone() : at::Tensor();
  length_ = length;
}

}  // namespace weft::attention
