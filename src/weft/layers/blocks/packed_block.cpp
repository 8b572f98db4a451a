// SPDX-License-Identifier: Apache-2.0
// One sublayer for each of pack, attention and feed-forward.
#include "weft/layers/blocks/packed_block.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <utility>

namespace weft::layers {
namespace {

BlockConfig pack_config(const BlockConfig& config) {
  BlockConfig pack = config;
  pack.cross_attention = "full";
  pack.maximum_source_length = config.maximum_length;
  return pack;
}

/// Of a call in which latents read `text`.
BlockContext reading(const at::Tensor& text, const attention::AttentionContext& of_text) {
  const auto source = std::make_shared<Source>();
  source->hidden = text;
  source->padding.key_keep = of_text.key_keep;
  source->padding.rows = of_text.rows;
  BlockContext context;
  context.attention.seed = of_text.seed;
  context.source = source;
  return context;
}

class LearnedLatents : public CompanionSource {
 public:
  explicit LearnedLatents(at::Tensor latents) : latents_(std::move(latents)) {}

  Rows first(const at::Tensor& text, const CompanionInput*, BlockContext&) override {
    return {latents_.to(text.scalar_type()).expand({text.size(0), -1, -1}), text};
  }
  bool gives_result() const override { return false; }

 private:
  at::Tensor latents_;  // [latents, hidden]
};

}  // namespace

PackedBlockImpl::PackedBlockImpl(const BlockConfig& config, SelfAttention self_attention,
                                 const at::TensorOptions& options)
    : AttentionBlockImpl(config, std::move(self_attention), options),
      pack(register_module("pack", CrossAttention(pack_config(config), options))),
      pack_norm(add_norm("pack_norm", config, options)) {
  add_feed_forward(config, options);
}

CompanionFactory PackedBlockImpl::companions() const {
  return [count = attention->latents()](torch::nn::Module& owner, std::int64_t hidden,
                                        const at::TensorOptions& options) {
    return std::make_unique<LearnedLatents>(owner.register_parameter("latents", at::empty({count, hidden}, options)));
  };
}

Rows PackedBlockImpl::forward(const Rows& x, const BlockContext& context) {
  // Views of one tensor, from block to block: autograd adds gradients in an order of its nodes, which decides last
  // bits, and with recomputation a block keeps one tensor.
  const Rows rows = Rows::joined(x.both(), x.count());
  const at::Tensor latents = rows.companions();
  const at::Tensor text = rows.text();
  at::Tensor packed = pack->forward(seen(latents, pack_norm), reading(seen(text, attention_norm), context.attention));
  at::Tensor given = attention->forward(seen(text, attention_norm), context, packed);
  at::Tensor hidden = added(text, std::move(given), {attention_norm, kAttentionSite}, context);
  hidden = fed(hidden, context);
  // Last, because without gradients the sum is written into what was packed.
  const at::Tensor latents_behind = added(latents, std::move(packed), {pack_norm, kPackSite}, context);
  return Rows::joined(at::cat({latents_behind, hidden}, 1), x.count());
}

}  // namespace weft::layers
