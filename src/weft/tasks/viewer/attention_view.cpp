// SPDX-License-Identifier: Apache-2.0
// A layer's calls go to its part, whichever of its mechanisms made them.
#include "weft/tasks/viewer/attention_view.h"

#include <algorithm>
#include <set>
#include <utility>

#include "weft/attention/mechanism.h"
#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/tasks/profile/observed_layers.h"

namespace weft::tasks {
namespace {

using attention::AttentionImpl;
using attention::HeadPicture;

bool is_asked(const std::vector<std::int64_t>& wanted, std::int64_t number) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), number) != wanted.end();
}

void require_known(const std::vector<std::int64_t>& wanted, const std::set<std::int64_t>& known, const char* what) {
  for (const std::int64_t number : wanted) {
    require(known.contains(number), what, ": the model has ", what, " ", *known.begin(), " to ", *known.rbegin(),
            ", found ", number);
  }
}

ViewedPart part_of(const ObservedLayer& layer) {
  const AttentionImpl& mechanism = *layer.mechanisms.front();
  ViewedPart part;
  part.name = layer.name;
  part.expression = mechanism.description();
  part.reason = attention::why_not_observed(mechanism.spec());
  part.from_target = layer.name.starts_with("decoder.");
  part.to_target = part.from_target && !layer.site().cross;
  part.all_heads = layer.site().heads;
  return part;
}

at::Tensor cut(const at::Tensor& cells, std::int64_t rows, std::int64_t columns) {
  return cells.narrow(0, 0, std::min(rows, cells.size(0))).narrow(1, 0, std::min(columns, cells.size(1))).contiguous();
}

HeadPicture cut(const HeadPicture& picture, std::int64_t queries, std::int64_t keys, std::int64_t cell) {
  const std::int64_t rows = (queries + cell - 1) / cell;
  const std::int64_t columns = (keys + cell - 1) / cell;
  return {cut(picture.mean, rows, columns),
          cut(picture.largest, rows, columns),
          cut(picture.edges, rows, columns),
          picture.visible.narrow(0, 0, std::min(rows, picture.visible.size(0))),
          cut(picture.top_key, queries, picture.top_key.size(1)),
          cut(picture.top_weight, queries, picture.top_weight.size(1)),
          picture.key.narrow(0, 0, std::min(keys, picture.key.size(0))).contiguous()};
}

}  // namespace

AttentionViewer::AttentionViewer(const torch::nn::Module& model, const ViewOptions& options) : options_(options) {
  std::set<std::int64_t> layers;
  std::set<std::int64_t> heads;
  for (const ObservedLayer& layer : observed_layers(model)) {
    const attention::MechanismSite& site = layer.site();
    layers.insert(site.layer);
    Drawn drawn{part_of(layer), {}};
    for (std::int64_t head = 0; head < site.heads; ++head) {
      heads.insert(head);
      if (is_asked(options.heads, head)) {
        drawn.heads.push_back(head);
      }
    }
    if (!is_asked(options.layers, site.layer)) {
      continue;
    }
    for (const attention::AttentionImpl* const mechanism : layer.mechanisms) {
      drawn_of_.emplace(&mechanism->site(), drawn_.size());
    }
    drawn_.push_back(std::move(drawn));
  }
  require_known(options.layers, layers, "layers");
  require_known(options.heads, heads, "heads");
}

void AttentionViewer::observe(const attention::ObservedCall& seen) {
  const auto found = drawn_of_.find(&seen.site);
  if (found == drawn_of_.end()) {
    return;
  }
  Drawn& drawn = drawn_[found->second];
  drawn.part.expression = seen.spec.description;
  const std::int64_t queries = seen.call.layout->blocks().query_offset + seen.call.query.size(2);
  const std::int64_t keys = seen.call.key.size(2);
  if (options_.kept) {
    drawn.part.cell = std::max(drawn.part.cell, attention::cell_size(std::max(queries, keys), options_.cells));
    drawn.seen = true;
    options_.kept->keep(found->second, drawn.part.name, seen.call);
    return;
  }
  if (drawn.pictures.empty()) {
    drawn.part.cell = attention::cell_size(std::max(queries, keys), options_.cells);
    for (const std::int64_t head : drawn.heads) {
      drawn.pictures.emplace_back(attention::PictureRequest{
          .head = head, .cell = drawn.part.cell, .query_end = queries, .keys = keys, .top = options_.top});
    }
  }
  try {
    const attention::ScoredCall scored = attention::scored_call(seen.call);
    for (attention::PictureOfHead& picture : drawn.pictures) {
      picture.add(scored);
      end_piece(queries);
    }
  } catch (const Error& error) {
    throw Error(error.kind(), concat(drawn.part.name, ": ", error.what()), error.hint());
  }
}

std::vector<ViewedPart> AttentionViewer::finished(std::int64_t source, std::int64_t target) const {
  std::vector<ViewedPart> parts;
  for (const Drawn& drawn : drawn_) {
    ViewedPart part = drawn.part;
    for (std::size_t index = 0; index < drawn.pictures.size(); ++index) {
      part.heads.push_back(
          {drawn.heads[index], cut(drawn.pictures[index].finished(), part.from_target ? target : source,
                                   part.to_target ? target : source, part.cell)});
      end_piece();
    }
    for (const std::int64_t head : drawn.seen ? drawn.heads : std::vector<std::int64_t>()) {
      part.heads.push_back({head, {}});
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace weft::tasks
