// SPDX-License-Identifier: Apache-2.0
// Heads, parts of heads and rows of a text that a model has read, drawn when they are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/server/reply_cache.h"
#include "weft/tasks/viewer/attention_view.h"
#include "weft/tasks/viewer/rollout.h"
#include "weft/viewer/view_questions.h"

namespace weft::viewer {

/// The heads that were drawn, gathered for rollout.
struct SharedRollout {
  std::mutex mutex;
  tasks::RolloutSums sums;
};

/// One text as a model has read it.
struct ServedView {
  tasks::AttentionView view;                   ///< its heads have no pictures
  std::shared_ptr<tasks::KeptAttention> kept;  ///< what they are drawn from
  std::string model;                           ///< what the page says it shows
  std::int64_t cells = 256;                    ///< of a picture on each side
  std::int64_t top = 8;                        ///< keys to list for each row
  /// What was answered: 144 heads of 16,384 tokens take 30 MB.
  std::shared_ptr<server::ReplyCache> drawn = std::make_shared<server::ReplyCache>(std::size_t{64} << 20);
  std::shared_ptr<SharedRollout> rollout = nullptr;  ///< of the last part, where that is rollout
};

/// Gives the view rollout as one more part, where its layers have it; the view must have all layers and heads.
void add_rollout(ServedView& served);

/// Whether a part is drawn from all heads, of which many may have to be drawn first.
bool is_rollout(const ServedView& served, std::int64_t part);

/// What the page asks for first: that of attention_data() of parts with pictures, of parts without.
formats::Json view_json(const ServedView& served);

/// Errors: kArgument for a part or a head that is not in the view.
void check_head(const ServedView& served, std::int64_t part, std::int64_t head);

/// {"mean", "largest", "key"}, and {"top_key", "top_weight"} where rows are asked for. Errors: as check_head().
formats::Json head_of(const ServedView& served, const HeadQuestion& question);

/// {"mean", "largest", "row", "column", "cell", "rows", "columns"}. Errors: kArgument for what is outside of the head.
formats::Json tile_of(const ServedView& served, const TileQuestion& question);

/// {"keys", "weights"} of one row, the strongest first. Errors: likewise.
formats::Json row_of(const ServedView& served, const RowQuestion& question);

}  // namespace weft::viewer
