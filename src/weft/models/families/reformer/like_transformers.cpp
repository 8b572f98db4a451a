// SPDX-License-Identifier: Apache-2.0
// Other expressions for the layers.
#include "weft/models/families/reformer/like_transformers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "weft/attention/mechanisms/settings.h"
#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/system/option_name.h"

namespace weft::models {
namespace {

constexpr std::string_view kBlock = "block(";
constexpr std::string_view kWindow = "window(left=";

/// Tokens that texts are padded to a multiple of, as a hashed layer says; 1 where there is none, and any chunk is
/// whole.
std::int64_t padded_tokens(const TransformerConfig& config) {
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

/// The same with what a decoder sees of a layer when its tokens come one by one: hashed layers of a cache, and local
/// ones as they are, which a cache gives what the whole text gives.
std::string from_a_cache(const std::string& attention, const std::string& where) {
  if (attention.starts_with("lsh")) {
    return attention.substr(0, attention.size() - 1) + ", decode=cached)";
  }
  const std::size_t at = attention.find(kWindow);
  const auto before = at == std::string::npos ? std::nullopt
                                              : integer_of(std::string_view(attention).substr(
                                                    at + kWindow.size(), attention.find(')') - at - kWindow.size()));
  if (before.value_or(0) > 1) {
    fail(ErrorKind::kUnsupported, option("like_transformers"), ": ", where, " has local_num_chunks_before ", *before,
         ", and with more than 1 the cache of transformers loses tokens; leave the flag out");
  }
  return attention;
}

}  // namespace

LikeTransformers reformer_scores_like_transformers(const TransformerConfig& config, const std::string&) {
  LikeTransformers like{.without_head_bias = true};
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    like.attention.push_back(on_a_circle(config.attention_of(layer), padded_tokens(config)));
  }
  return like;
}

LikeTransformers reformer_continues_like_transformers(const TransformerConfig& config, const std::string& where) {
  LikeTransformers like{.without_head_bias = true};
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    like.attention.push_back(from_a_cache(config.attention_of(layer), where));
  }
  return like;
}

}  // namespace weft::models
