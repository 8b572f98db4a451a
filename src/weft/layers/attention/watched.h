// SPDX-License-Identifier: Apache-2.0
// Somebody watches the attention of a model's layers: a profile, a viewer. A layer names the watcher in the context of
// its calls, and a mechanism shows it what it computes; nobody between the two knows of it.
#pragma once

#include <torch/nn/module.h>

#include "weft/attention/context.h"

namespace weft::layers {

class WatchedLayer {
 public:
  /// `observer` is shown every call from now on; it must live until it is taken away by null.
  void watch(attention::AttentionObserver* observer) noexcept { observer_ = observer; }

 protected:
  ~WatchedLayer() = default;

  bool is_watched() const noexcept { return observer_ != nullptr; }
  attention::AttentionObserver* observer() const noexcept { return observer_; }

 private:
  attention::AttentionObserver* observer_ = nullptr;
};

/// While it lives, `observer` is shown the calls of all layers of `model`, which must outlive it.
class WatchScope {
 public:
  WatchScope(torch::nn::Module& model, attention::AttentionObserver& observer);
  ~WatchScope();
  WatchScope(const WatchScope&) = delete;
  WatchScope& operator=(const WatchScope&) = delete;

 private:
  torch::nn::Module& model_;
};

}  // namespace weft::layers
