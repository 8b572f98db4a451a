// SPDX-License-Identifier: Apache-2.0
// A layer is named by its path, which names its weights in a checkpoint too.
#include "weft/tasks/profile/observed_layers.h"

#include <algorithm>
#include <string_view>

#include "weft/attention/profile/attention_observer.h"
#include "weft/core/error.h"

namespace weft::tasks {
namespace {

// "decoder.layers.3" of "decoder.layers.3.attention.mechanism".
std::string layer_of(const std::string& path) {
  constexpr std::string_view kLayers = "layers.";
  const std::size_t begin = path.find(kLayers);
  const std::size_t end = begin == std::string::npos ? begin : path.find('.', begin + kLayers.size());
  return path.substr(0, end);
}

// Where there is one stack, what it is called tells nothing.
void shorten(std::vector<ObservedLayer>& layers) {
  const auto is_of_decoder = [](const ObservedLayer& layer) { return layer.name.starts_with("decoder."); };
  if (std::none_of(layers.begin(), layers.end(), is_of_decoder)) {
    for (ObservedLayer& layer : layers) {
      layer.name.erase(0, std::min(layer.name.find("layers."), layer.name.size()));
    }
  }
}

std::vector<ObservedLayer> found_layers(const torch::nn::Module& model) {
  std::vector<ObservedLayer> layers;
  for (const auto& entry : model.named_modules()) {
    const auto* const mechanism = dynamic_cast<const attention::AttentionImpl*>(entry.value().get());
    if (mechanism == nullptr) {
      continue;
    }
    const std::string name = layer_of(entry.key()) + (mechanism->site().cross ? ".cross" : ".self");
    const auto found =
        std::find_if(layers.begin(), layers.end(), [&](const auto& layer) { return layer.name == name; });
    if (found == layers.end()) {
      layers.push_back({name, {mechanism}});
    } else {
      found->mechanisms.push_back(mechanism);
    }
  }
  return layers;
}

}  // namespace

std::vector<ObservedLayer> observed_layers(const torch::nn::Module& model) {
  std::vector<ObservedLayer> layers = found_layers(model);
  if (layers.empty()) {
    throw Error(ErrorKind::kUnsupported, "no layer of this model can be watched: it has no attention over a pattern",
                "give a model with transformer blocks; one of a ring and a relay has others in their place");
  }
  shorten(layers);
  return layers;
}

std::string why_none_observed(const torch::nn::Module& model) {
  std::string reason = "the model has no attention over a pattern";
  for (const ObservedLayer& layer : found_layers(model)) {
    reason = attention::why_not_observed(layer.mechanisms.front()->spec());
    if (reason.empty()) {
      return {};
    }
  }
  return reason;
}

}  // namespace weft::tasks
