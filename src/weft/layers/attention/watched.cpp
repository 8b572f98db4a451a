// SPDX-License-Identifier: Apache-2.0
// The layers of a model that can be watched are found among its modules.
#include "weft/layers/attention/watched.h"

namespace weft::layers {
namespace {

void watch_all(torch::nn::Module& model, attention::AttentionObserver* observer) {
  for (const auto& module : model.modules()) {
    if (auto* const layer = dynamic_cast<WatchedLayer*>(module.get())) {
      layer->watch(observer);
    }
  }
}

}  // namespace

WatchScope::WatchScope(torch::nn::Module& model, attention::AttentionObserver& observer) : model_(model) {
  watch_all(model_, &observer);
}

WatchScope::~WatchScope() { watch_all(model_, nullptr); }

}  // namespace weft::layers
