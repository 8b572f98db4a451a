// SPDX-License-Identifier: Apache-2.0
// Modules are found in the tree of a model; their order there is fixed.
#include "weft/attention/mechanisms/linear/redrawn_features.h"

#include <memory>

#include "weft/attention/mechanisms/linear/feature_attention.h"
#include "weft/core/random.h"

namespace weft::attention {
namespace {

// "feat" in ASCII: a stream of its own beside those of data order and dropout.
constexpr std::uint64_t kFeatureStream = 0x66656174;

}  // namespace

void redraw_features(const torch::nn::Module& model, std::int64_t done, std::uint64_t seed) {
  std::uint64_t place = 0;
  for (const auto& module : model.modules(/*include_self=*/false)) {
    const auto layer = std::dynamic_pointer_cast<FeatureAttention>(module);
    if (layer == nullptr || layer->redraw_every() == 0) {
      continue;
    }
    if (done % layer->redraw_every() == 0) {
      layer->redraw(random_bits(seed ^ kFeatureStream, static_cast<std::uint64_t>(done), place));
    }
    ++place;
  }
}

}  // namespace weft::attention
