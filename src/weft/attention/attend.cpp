// SPDX-License-Identifier: Apache-2.0
// A mechanism's module behind a class that names none of LibTorch's module headers.
#include "weft/attention/attend.h"

#include "weft/attention/mechanism.h"

namespace weft::attention {
namespace {

std::shared_ptr<AttentionImpl> without_dropout(std::shared_ptr<AttentionImpl> impl) {
  impl->eval();
  return impl;
}

}  // namespace

Attend::Attend(const std::string& expression, const MechanismSite& site)
    : impl_(without_dropout(make_attention(expression, site))) {}

Attend::Attend(const pattern::Pattern& pattern, const MechanismSite& site)
    : impl_(without_dropout(make_attention(pattern, site))) {}

at::Tensor Attend::operator()(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              const AttentionContext& context) const {
  return impl_->forward(query, key, value, context);
}

std::string Attend::description() const { return impl_->description(); }

}  // namespace weft::attention
