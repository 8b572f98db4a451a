// SPDX-License-Identifier: Apache-2.0
// Calls are copied: what a model computes them from is larger, and is let go.
#include "weft/tasks/viewer/kept_attention.h"

#include <algorithm>

#include "weft/core/error.h"

namespace weft::tasks {

void KeptAttention::keep(std::size_t part, const std::string& name, const attention::MassCall& call) {
  try {
    attention::ScoredCall scored = attention::scored_call(call);
    for (at::Tensor* tensor : {&scored.query, &scored.key, &scored.relative_query, &scored.relative_rows}) {
      if (tensor->defined()) {
        *tensor = tensor->clone(at::MemoryFormat::Contiguous);
        bytes_ += static_cast<std::int64_t>(tensor->nbytes());
      }
    }
    calls_[part].push_back(std::move(scored));
  } catch (const Error& error) {
    throw Error(error.kind(), concat(name, ": ", error.what()), error.hint());
  }
}

KeptAttention::SharedScales KeptAttention::scales_of(const HeadName& head) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = scales_.find(head);
  return found == scales_.end() ? nullptr : found->second;
}

attention::HeadPicture KeptAttention::draw(std::size_t part, const attention::PictureRequest& request) const {
  const auto found = calls_.find(part);
  require(found != calls_.end(), "attention: nothing is kept of part ", part);
  attention::PictureRequest whole = request;
  for (const attention::ScoredCall& call : found->second) {
    whole.keys = std::max(whole.keys, call.key.size(2));
  }
  const HeadName name{part, request.head};
  const SharedScales known = scales_of(name);
  if (known && std::ssize(known->edges) >= request.query_end) {
    whole.scales = known.get();
  }
  attention::PictureOfHead picture(whole);
  for (const attention::ScoredCall& call : found->second) {
    picture.add(call);
  }
  if (whole.scales == nullptr && request.query_begin == 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    SharedScales& kept = scales_[name];
    if (!kept || kept->edges.size() < picture.scales().edges.size()) {
      kept = std::make_shared<const attention::RowScales>(picture.scales());
    }
  }
  return picture.finished();
}

}  // namespace weft::tasks
