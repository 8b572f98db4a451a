// SPDX-License-Identifier: Apache-2.0
// A part is named by where its layer lies in the module tree, as in a profile.
#include "weft/tasks/viewer/attention_view.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "weft/attention/mechanism.h"
#include "weft/core/error.h"

namespace weft::tasks {
namespace {

using attention::AttentionImpl;
using attention::HeadPicture;

// "decoder.layers.3" of "decoder.layers.3.attention.mechanism".
std::string place_of_layer(const std::string& path) {
  constexpr std::string_view kLayers = "layers.";
  const std::size_t begin = path.find(kLayers);
  const std::size_t end = begin == std::string::npos ? begin : path.find('.', begin + kLayers.size());
  return path.substr(0, end);
}

bool is_asked(const std::vector<std::int64_t>& wanted, std::int64_t number) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), number) != wanted.end();
}

void require_known(const std::vector<std::int64_t>& wanted, const std::set<std::int64_t>& known, const char* what) {
  for (const std::int64_t number : wanted) {
    require(known.contains(number), "attention: the model has ", what, "s ", *known.begin(), " to ", *known.rbegin(),
            ", found ", what, " ", number);
  }
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
          cut(picture.top_key, queries, picture.top_key.size(1)),
          cut(picture.top_weight, queries, picture.top_weight.size(1)),
          picture.key.narrow(0, 0, std::min(keys, picture.key.size(0))).contiguous()};
}

}  // namespace

AttentionViewer::AttentionViewer(torch::nn::Module& model, const ViewOptions& options) : options_(options) {
  std::map<std::string, std::size_t> named;
  std::set<std::int64_t> layers;
  std::set<std::int64_t> heads;
  for (const auto& entry : model.named_modules()) {
    const auto* const mechanism = dynamic_cast<const AttentionImpl*>(entry.value().get());
    if (mechanism == nullptr) {
      continue;
    }
    const attention::MechanismSite& site = mechanism->site();
    layers.insert(site.layer);
    for (std::int64_t head = 0; head < site.heads; ++head) {
      heads.insert(head);
    }
    ViewedPart part;
    part.name = place_of_layer(entry.key()) + (site.cross ? ".cross" : ".self");
    part.expression = mechanism->description();
    part.reason = attention::why_not_observed(mechanism->spec());
    part.from_target = part.name.starts_with("decoder.");
    part.to_target = part.from_target && !site.cross;
    part.all_heads = site.heads;
    if (!is_asked(options.layers, site.layer)) {
      continue;
    }
    // A layer may have a second mechanism, for texts that are too short for its first.
    const auto [found, is_new] = named.emplace(part.name, drawn_.size());
    if (is_new) {
      Drawn drawn{std::move(part), {}};
      for (std::int64_t head = 0; head < site.heads; ++head) {
        if (is_asked(options.heads, head)) {
          drawn.heads.push_back(head);
        }
      }
      drawn_.push_back(std::move(drawn));
    }
    drawn_of_.emplace(&site, found->second);
  }
  require(!layers.empty(), "attention: the model has no attention");
  require_known(options.layers, layers, "layer");
  require_known(options.heads, heads, "head");
}

void AttentionViewer::observe(const attention::ObservedCall& seen) {
  const auto found = drawn_of_.find(&seen.site);
  if (found == drawn_of_.end()) {
    return;
  }
  Drawn& drawn = drawn_[found->second];
  drawn.part.expression = seen.spec.description;
  if (drawn.pictures.empty()) {
    const std::int64_t queries = seen.call.layout->blocks().query_offset + seen.call.query.size(2);
    const std::int64_t keys = seen.call.key.size(2);
    drawn.part.cell = attention::cell_size(std::max(queries, keys), options_.cells);
    for (const std::int64_t head : drawn.heads) {
      drawn.pictures.emplace_back(attention::PictureRequest{
          .head = head, .cell = drawn.part.cell, .query_end = queries, .keys = keys, .top = options_.top});
    }
  }
  try {
    for (attention::PictureOfHead& picture : drawn.pictures) {
      picture.add(seen.call);
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
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

at::Tensor rollout(const std::vector<ViewedPart>& parts) {
  at::Tensor flow;
  for (const ViewedPart& part : parts) {
    if (part.from_target || part.to_target) {
      continue;
    }
    if (part.heads.empty()) {
      return {};
    }
    at::Tensor mass = at::zeros(part.heads.front().picture.mean.sizes(), at::kDouble);
    for (const ViewedHead& head : part.heads) {
      mass += head.picture.mean.to(at::kDouble) * head.picture.edges;
    }
    // Each row of tokens gave 1 for each head; a row without an edge hands on itself alone.
    const at::Tensor rows = mass.sum(1, true);
    const at::Tensor even = at::eye(mass.size(0), at::kDouble);
    const at::Tensor step = (mass / rows.clamp_min(1e-30) + even) / 2 + (rows == 0).to(at::kDouble) * even / 2;
    flow = flow.defined() ? at::matmul(step, flow) : step;
  }
  return flow;
}

}  // namespace weft::tasks
