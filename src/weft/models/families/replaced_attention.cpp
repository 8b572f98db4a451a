// SPDX-License-Identifier: Apache-2.0
// An expression is one for all layers, a list of one for each, or `A => B`: B in layers that have A.
#include "weft/models/families/replaced_attention.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/replaced_fields.h"

namespace weft::models {
namespace {

struct Arrow {
  std::string_view from;
  std::string_view to;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// Both sides of `A => B`: layers that have A get B.
std::optional<Arrow> split_arrow(std::string_view expression) {
  constexpr std::string_view kArrow = "=>";
  const std::size_t at = expression.find(kArrow);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  return Arrow{trimmed(expression.substr(0, at)), trimmed(expression.substr(at + kArrow.size()))};
}

/// What a layer with `before` (empty: the family's own) has under `expression`.
std::string replaced_by(const std::string& expression, const std::string& before, const EncoderConfig& config,
                        std::int64_t layer) {
  const std::optional<Arrow> arrow = split_arrow(expression);
  if (!arrow) {
    return expression;
  }
  const std::string current = before.empty() ? encoder_rules(config).attention(config, {}, layer) : before;
  const auto canonical = [&](const std::string& text) {
    return attention::parse_mechanism(text, config.directory).description;
  };
  return canonical(std::string(arrow->from)) == canonical(current) ? std::string(arrow->to) : before;
}

}  // namespace

std::string replacing_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  const bool has_list = config.attention.size() > 1;
  const std::string listed = has_list                   ? config.attention.at(static_cast<std::size_t>(layer))
                             : config.attention.empty() ? std::string()
                                                        : config.attention.front();
  const std::string before = replaced_by(listed, {}, config, layer);
  return options.attention.empty() ? before : replaced_by(options.attention, before, config, layer);
}

void list_attention(EncoderConfig& config) {
  if (config.attention.size() != 1 || !split_arrow(config.attention.front())) {
    return;
  }
  const EncoderRules& rules = encoder_rules(config);
  std::vector<std::string> layers;
  layers.reserve(static_cast<std::size_t>(config.num_hidden_layers));
  bool some = false;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string given = replacing_attention(config, {}, layer);
    some = some || !given.empty();
    layers.push_back(given.empty() ? rules.attention(config, {}, layer) : given);
  }
  require(some, "attention `", config.attention.front(), "` replaces nothing: layers have ", [&] {
    return quoted_list(std::vector<std::string>(layers.begin(), std::unique(layers.begin(), layers.end())), 4);
  });
  config.attention = std::move(layers);
}

void check_random(const EncoderOptions& options, bool draws, std::string_view families, std::string_view family) {
  if (options.random != EncoderOptions().random && !draws) {
    throw UsageError(concat(option("random"), " is for ", families, ", but the model is ", family));
  }
}

void check_replaced(const EncoderOptions& options, const std::vector<std::string>& attention) {
  if (attention.empty() || !options.attention.empty()) {
    return;
  }
  const bool draws = options.random != EncoderOptions().random;
  if (draws || !options.fields.empty()) {
    throw UsageError(concat(option(draws ? std::string_view("random") : options.fields.begin().key()),
                            " is a setting of the family's own attention, which ", quote(attention.front()),
                            " of config.json replaces"),
                     "leave it out");
  }
}

EncoderConfig with_options(const EncoderConfig& config, const EncoderOptions& options) {
  EncoderConfig asked = config;
  if (!options.attention.empty()) {
    asked.attention = {options.attention};
    if (config.attention.size() > 1 && split_arrow(options.attention)) {
      asked.attention = config.attention;
      for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
        asked.attention[static_cast<std::size_t>(layer)] = replacing_attention(config, options, layer);
      }
    }
  }
  list_attention(asked);
  replace_fields(asked, options.fields, encoders_with);
  return asked;
}

}  // namespace weft::models
