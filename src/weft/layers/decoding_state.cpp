// SPDX-License-Identifier: Apache-2.0
// All layers together, so that they never hold different tokens.
#include "weft/layers/decoding_state.h"

#include <ATen/ops/scalar_tensor.h>

#include <charconv>
#include <string_view>

#include "weft/core/error.h"

namespace weft::layers {
namespace {

// As the patterns have it; sums of the layers do not show how many tokens they are of.
constexpr std::int64_t kMaximumLength = std::int64_t{1} << 40;
constexpr std::string_view kPrefix = "layers.";

std::string prefix_of(std::size_t layer) { return concat(kPrefix, layer, "."); }

// What save() gave, in any order: files of tensors sort them by their own rules.
struct Saved {
  at::Tensor length;
  std::vector<attention::NamedTensors> layers;

  explicit Saved(std::size_t count) : layers(count) {}

  void add(const std::string& name, const at::Tensor& tensor) {
    if (name == "length" && !length.defined()) {
      length = tensor;
      return;
    }
    std::size_t layer = layers.size();
    if (name.starts_with(kPrefix)) {
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
    }
    if (layer >= layers.size() || !name.starts_with(prefix_of(layer))) {
      fail(ErrorKind::kFormat, "decoding state: made for ", layers.size(), " layers, cannot take `", name, "`");
    }
    attention::NamedTensors& part = layers[layer];
    std::string own = name.substr(prefix_of(layer).size());
    for (const auto& [known, _] : part) {
      if (known == own) {
        fail(ErrorKind::kFormat, "decoding state, layer ", layer, ": expected `", own, "` once, found it twice");
      }
    }
    part.emplace_back(std::move(own), tensor);
  }

  std::int64_t tokens() const {
    const bool is_number = length.defined() && length.dim() == 0 && length.scalar_type() == at::kLong;
    const std::int64_t found = is_number ? length.item<std::int64_t>() : -1;
    if (found < 0 || found > kMaximumLength) {
      fail(ErrorKind::kFormat, "decoding state of ", layers.size(),
           " layers: expected `length`, an int64 number in [0, ", kMaximumLength, "]");
    }
    return found;
  }

  void check_batch() const {
    std::int64_t batch = -1;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      for (const auto& [name, tensor] : layers[layer]) {
        const std::int64_t rows = tensor.defined() && tensor.dim() > 0 ? tensor.size(0) : 0;
        batch = batch < 0 ? rows : batch;
        if (rows != batch) {
          fail(ErrorKind::kFormat, "decoding state, layer ", layer, ": expected ", batch, " rows as in other layers, `",
               name, "` has ", rows);
        }
      }
    }
  }
};

void require_no_memory(bool has_none, const char* what) {
  if (!has_none) {
    fail(ErrorKind::kUnsupported, "decoding state: one with a compressed memory ", what);
  }
}

}  // namespace

attention::AttentionState& DecodingState::layer(std::int64_t layer) {
  require(layer >= 0 && layer < std::ssize(layers_), "decoding state: made for ", layers_.size(),
          " layers, but there is a layer ", layer);
  return *layers_[static_cast<std::size_t>(layer)];
}

void DecodingState::advance(std::int64_t tokens) {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    require(layers_[layer]->length() == length_, "decoding state: layer ", layer, " holds ", layers_[layer]->length(),
            " tokens, the state ", length_);
    require(layers_[layer]->pending() == tokens, "decoding state: layer ", layer, " has ", layers_[layer]->pending(),
            " new tokens, cannot count ", tokens, " tokens");
  }
  for (const auto& layer : layers_) {
    layer->advance();
  }
  length_ += tokens;
}

void DecodingState::forget_tokens() {
  for (const auto& layer : layers_) {
    layer->truncate(0);
  }
  length_ = 0;
}

void DecodingState::reorder(const at::Tensor& rows) {
  for (const auto& layer : layers_) {
    layer->reorder(rows);
  }
  if (memory_ != nullptr) {
    memory_->reorder(rows);
  }
}

void DecodingState::limit(std::int64_t tokens) {
  for (const auto& layer : layers_) {
    layer->limit(tokens);
  }
}

void DecodingState::truncate(std::int64_t length) {
  require_no_memory(memory_ == nullptr, "cannot be cut");
  require(length >= 0 && length <= length_, "decoding state: cannot cut ", length_, " tokens to ", length);
  for (const bool kept : {false, true}) {  // those first that may refuse
    for (const auto& layer : layers_) {
      if (layer->keeps_tokens() == kept) {
        layer->truncate(length);
      }
    }
  }
  length_ = length;
}

void DecodingState::detach() {
  for (const auto& layer : layers_) {
    layer->detach();
  }
}

std::size_t DecodingState::bytes() const {
  std::size_t total = 0;
  for (const auto& layer : layers_) {
    total += layer->bytes();
  }
  return total;
}

attention::NamedTensors DecodingState::save() const {
  require_no_memory(memory_ == nullptr, "cannot be saved");
  attention::NamedTensors tensors{{"length", at::scalar_tensor(length_, at::TensorOptions().dtype(at::kLong))}};
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    for (auto& [name, tensor] : layers_[layer]->save()) {
      tensors.emplace_back(prefix_of(layer) + name, std::move(tensor));
    }
  }
  return tensors;
}

void DecodingState::load(const attention::NamedTensors& tensors) {
  require_no_memory(memory_ == nullptr, "cannot be loaded");
  Saved saved(layers_.size());
  for (const auto& [name, tensor] : tensors) {
    saved.add(name, tensor);
  }
  const std::int64_t length = saved.tokens();
  saved.check_batch();
  Layers loaded;  // aside, so that a layer that refuses changes none
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    loaded.push_back(layers_[layer]->fresh());
    loaded.back()->load(saved.layers[layer], length);
  }
  layers_ = std::move(loaded);
  length_ = length;
}

}  // namespace weft::layers
