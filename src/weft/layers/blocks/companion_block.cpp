// SPDX-License-Identifier: Apache-2.0
// Both kinds of rows in one tensor for the products, apart for the norms of attention.
#include "weft/layers/blocks/companion_block.h"

#include <ATen/ops/cat.h>

#include <utility>

namespace weft::layers {

CompanionBlockImpl::CompanionBlockImpl(const BlockConfig& config, SelfAttention self_attention,
                                       const at::TensorOptions& options)
    : AttentionBlockImpl(config, std::move(self_attention), options),
      global_attention_norm(add_norm("global_attention_norm", config, options)) {
  add_feed_forward(config, options);
}

Rows CompanionBlockImpl::forward(const Rows& x, const BlockContext& context) {
  const std::int64_t count = x.count();
  const at::Tensor companions = x.companions();
  const at::Tensor text = x.text();
  const at::Tensor both =
      norm_first() ? at::cat({global_attention_norm(companions), attention_norm(text)}, 1) : x.both();
  const Rows given = Rows::joined(attention->forward(both, context), count);
  const at::Tensor rows =
      at::cat({added(companions, given.companions(), {global_attention_norm, kCompanionSite}, context),
               added(text, given.text(), {attention_norm, kAttentionSite}, context)},
              1);
  return Rows::joined(fed(rows, context), count);
}

}  // namespace weft::layers
