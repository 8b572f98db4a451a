// SPDX-License-Identifier: Apache-2.0
// Other expressions for the local layers, and a bias of zeros.
#include "weft/checkpoint/reformer/like_transformers.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "weft/attention/mechanisms/settings.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/checkpoint/published_decoders.h"
#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

constexpr std::string_view kBlock = "block(";
constexpr std::string_view kWindow = "window(left=";

/// Tokens that texts are padded to a multiple of, as a hashed layer says; 1 where there is none, and any chunk is
/// whole.
std::int64_t padded_tokens(const models::TransformerConfig& config) {
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (config.attention_of(layer).starts_with("lsh")) {
      return attention::MechanismSettings(config.attention_of(layer), "lsh").number("multiple", 1, 1, 1 << 30);
    }
  }
  return 1;
}

/// `block(c, window(left=b))` of a decoder as a circle of padded chunks, from which `causal` takes the later positions.
std::string on_a_circle(const std::string& local, std::int64_t tokens) {
  const std::size_t at = local.find(kWindow);
  if (at == std::string::npos) {
    return local;  // lsh, and an encoder's layers, which lie on a circle already
  }
  const std::string_view size = std::string_view(local).substr(kBlock.size(), local.find(',') - kBlock.size());
  const std::int64_t multiple = std::max<std::int64_t>(tokens / integer_of(size).value_or(1), 1);
  std::string circle = local;
  circle.replace(at, kWindow.size(), "circle(left=");
  circle.insert(circle.size() - 2, concat(", multiple=", multiple));
  return circle;
}

}  // namespace

models::LanguageModel load_like_transformers(const OpenedModel& directory) {
  const PublishedDecoder* const published = directory.published_decoder();
  require(published != nullptr && published->type == kReformer,
          "--like-transformers is for Reformers of transformers, ", "and ", quote(directory.path().string(), 4096),
          " holds another model");
  const models::TransformerConfig& config = directory.own_config();
  LoadOptions options;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    options.attention.push_back(on_a_circle(config.attention_of(layer), padded_tokens(config)));
  }
  models::LanguageModel model = load_model(directory, options);
  const at::NoGradGuard without_gradients;
  for (auto& parameter : model->named_parameters()) {
    if (parameter.key() == "head.bias") {
      parameter.value().zero_();
    }
  }
  return model;
}

}  // namespace weft::checkpoint
