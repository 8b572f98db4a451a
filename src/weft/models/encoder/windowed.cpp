// SPDX-License-Identifier: Apache-2.0
// The window's rows, then those of global positions.
#include "weft/models/encoder/windowed.h"

#include "weft/attention/global_projection.h"
#include "weft/attention/profile/global_rows.h"
#include "weft/core/error.h"
#include "weft/layers/attention/self_attention.h"
#include "weft/models/encoder/batch.h"

namespace weft::models {
namespace {

/// Self-attention whose positions bound to `input` look at every key, through query, key and value projections of their
/// own (section 3.1 of the paper).
class WindowedAttention : public layers::SelfAttentionImpl {
 public:
  WindowedAttention(const layers::BlockConfig& block, const at::TensorOptions& options)
      : SelfAttentionImpl(block, options) {
    global_qkv = register_module("global_qkv", layers::Linear(block.hidden_size, 3 * block.hidden_size, true, options));
  }

  layers::Linear global_qkv{nullptr};  ///< hidden -> 3 hidden

 protected:
  at::Tensor attend(const layers::Heads& heads, const at::Tensor& x, const layers::BlockContext& context) override;
};

at::Tensor WindowedAttention::attend(const layers::Heads& heads, const at::Tensor& x,
                                     const layers::BlockContext& context) {
  const bool is_watched = context.attention.observer != nullptr && !context.attention.rows.empty();
  if (!needs_input() || !(binds_positions(context.attention) || is_watched)) {
    return SelfAttentionImpl::attend(heads, x, context);
  }
  const auto part = [&](std::int64_t which) {
    const std::int64_t width = config().hidden_size;
    const layers::LinearRows rows = global_qkv->rows(which * width, width);
    return attention::LinearWeights{rows.weight(), rows.bias()};
  };
  const attention::GlobalProjection projection{part(0), part(1), part(2), config().heads};
  at::Tensor mixed;
  if (context.attention.observer != nullptr) {
    attention::GlobalRowsObserver global_rows(context.attention, x, projection);
    layers::BlockContext watched = context;
    watched.attention.observer = &global_rows;
    mixed = SelfAttentionImpl::attend(heads, x, watched);
  } else {
    mixed = SelfAttentionImpl::attend(heads, x, context);
  }
  attention::AttentionOptions options;
  options.key_keep = context.attention.key_keep;
  if (is_training() && config().attention_dropout > 0) {
    options.dropout = config().attention_dropout;
    options.seed = context.attention.seed.derived(static_cast<std::uint64_t>(config().layer));
  }
  return attention::with_global_rows(mixed, x, context.attention.rows, projection, options);
}

}  // namespace

std::string windowed_pattern(std::int64_t window) { return concat("window(", window, ") | global(input, side=keys)"); }

layers::SelfAttentionFactory windowed_layer() {
  return [](const layers::BlockConfig& block, const at::TensorOptions& options) {
    return std::make_shared<WindowedAttention>(block, options);
  };
}

void check_windows(const std::vector<std::int64_t>& windows, std::int64_t layers, std::string_view where) {
  const auto count = static_cast<std::int64_t>(windows.size());
  require(count == 1 || count == layers, where, ": attention_window must list one window, or one for ", "each of ",
          layers, " layers, found ", count);
  for (const std::int64_t window : windows) {
    require(window >= 2 && window % 2 == 0 && window <= (1 << 24), where,
            ": attention_window must be even, from 2 to 16777216, found ", window);
  }
}

}  // namespace weft::models
