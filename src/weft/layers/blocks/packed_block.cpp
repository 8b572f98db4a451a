// SPDX-License-Identifier: Apache-2.0
// One sublayer for each of pack, attention and feed-forward.
#include "weft/layers/blocks/packed_block.h"

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
  const at::Tensor latents = x.companions();
  const at::Tensor text = x.text();
  at::Tensor packed = pack->forward(seen(latents, pack_norm), reading(seen(text, attention_norm), context.attention));
  at::Tensor given = attention->forward(seen(text, attention_norm), context, packed);
  at::Tensor hidden = added(text, std::move(given), {attention_norm, kAttentionSite}, context);
  hidden = fed(hidden, context);
  // Last, because without gradients the sum is written into what was packed.
  at::Tensor latents_behind = added(latents, std::move(packed), {pack_norm, kPackSite}, context);
  return {std::move(latents_behind), std::move(hidden)};
}

}  // namespace weft::layers
