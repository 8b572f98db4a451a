// SPDX-License-Identifier: Apache-2.0
// The table of mechanism names. A row is a name and the function that builds it from the whole expression; the recipe
// is docs/recipes/add-a-mechanism.md.
#include "weft/attention/mechanism.h"

#include <array>
#include <cctype>
#include <string_view>

#include "weft/attention/pattern_attention.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

using Build = std::shared_ptr<AttentionImpl> (*)(const std::string& expression, const MechanismSite& site);

struct Mechanism {
  std::string_view name;
  Build build;
};

std::shared_ptr<AttentionImpl> refuse(const std::string& expression, const MechanismSite&) {
  fail(ErrorKind::kUnsupported, "the mechanism `", expression,
       "` is known, but this version computes patterns only (`window(512) | global(1)`, `full`, ...)");
}

constexpr std::array kMechanisms{
    Mechanism{"lsh", refuse},           Mechanism{"linear", refuse},  Mechanism{"random_features", refuse},
    Mechanism{"performer", refuse},     Mechanism{"nystrom", refuse}, Mechanism{"linformer", refuse},
    Mechanism{"adaptive_span", refuse},
};

// The identifier that the expression begins with, empty when it begins with anything else.
std::string_view first_name(std::string_view expression) {
  const std::size_t begin = expression.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) {
    return {};
  }
  std::size_t end = begin;
  while (end < expression.size() &&
         (std::isalnum(static_cast<unsigned char>(expression[end])) != 0 || expression[end] == '_')) {
    ++end;
  }
  return expression.substr(begin, end - begin);
}

void check_site(const MechanismSite& site) {
  require(site.heads > 0, "attention: heads must be positive, found ", site.heads);
  require(site.dropout >= 0 && site.dropout < 1, "attention: dropout must be in [0, 1), found ", site.dropout);
}

}  // namespace

std::shared_ptr<AttentionImpl> make_attention(const std::string& expression, const MechanismSite& site) {
  check_site(site);
  const std::string_view name = first_name(expression);
  for (const Mechanism& mechanism : kMechanisms) {
    if (mechanism.name == name) {
      require(!site.alibi, "attention: `", expression,
              "` computes no scores, so ALiBi cannot lower them with the distance; ",
              "take a pattern, or another position embedding");
      return mechanism.build(expression, site);
    }
  }
  return std::make_shared<PatternAttention>(expression, site);
}

std::shared_ptr<AttentionImpl> make_attention(const pattern::Pattern& pattern, const MechanismSite& site) {
  check_site(site);
  return std::make_shared<PatternAttention>(pattern, site);
}

}  // namespace weft::attention
