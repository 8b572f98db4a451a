// SPDX-License-Identifier: Apache-2.0
// The table of mechanism names: a row has the function that reads an expression and the one that builds the module. The
// recipe is docs/recipes/add-a-mechanism.md.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/etc/etc_attention.h"
#include "weft/attention/mechanisms/linear/linear_attention.h"
#include "weft/attention/mechanisms/linformer/linformer_attention.h"
#include "weft/attention/mechanisms/little_bird/little_bird_attention.h"
#include "weft/attention/mechanisms/lsh/lsh_attention.h"
#include "weft/attention/mechanisms/nystrom/nystrom_attention.h"
#include "weft/attention/mechanisms/pattern_attention.h"
#include "weft/attention/mechanisms/performer/performer_attention.h"
#include "weft/attention/mechanisms/relative/relative_attention.h"
#include "weft/attention/mechanisms/rfa/rfa_attention.h"
#include "weft/attention/mechanisms/span/span_attention.h"
#include "weft/attention/mechanisms/transient_global/transient_global.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/pattern/language/mechanism_names.h"
#include "weft/pattern/language/names.h"

namespace weft::attention {
namespace {

using Parse = MechanismSpec (*)(const std::string& expression);
using Build = std::shared_ptr<AttentionImpl> (*)(const MechanismSpec& spec, const MechanismSite& site,
                                                 const at::TensorOptions& options);

struct Mechanism {
  std::string_view name;
  Parse parse;
  Build build;
};

template <typename Made>
std::shared_ptr<AttentionImpl> build(const MechanismSpec& spec, const MechanismSite& site, const at::TensorOptions&) {
  return std::make_shared<Made>(spec, site);
}

/// Of a mechanism that learns something.
template <typename Made>
std::shared_ptr<AttentionImpl> build_learned(const MechanismSpec& spec, const MechanismSite& site,
                                             const at::TensorOptions& options) {
  return std::make_shared<Made>(spec, site, options);
}

constexpr std::array kMechanisms{
    Mechanism{"lsh", parse_lsh, build<LshAttention>},
    Mechanism{"linear", parse_linear, build<LinearAttention>},
    Mechanism{"relative", parse_relative, build_learned<RelativeAttention>},
    Mechanism{"span", parse_span, build_learned<SpanAttention>},
    Mechanism{"nystrom", parse_nystrom, build_learned<NystromAttention>},
    Mechanism{"performer", parse_performer, build_learned<PerformerAttention>},
    Mechanism{"rfa", parse_rfa, build_learned<RfaAttention>},
    Mechanism{"linformer", parse_linformer, build_learned<LinformerAttention>},
    Mechanism{"little_bird", parse_little_bird, build_learned<LittleBirdAttention>},
    Mechanism{"global_local", parse_etc, build_learned<EtcAttention>},
    Mechanism{"transient_global", parse_transient_global, build_learned<TransientGlobalAttention>},
};
static_assert(std::ranges::equal(kMechanisms, pattern::kMechanismNames, {}, &Mechanism::name));

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

/// Null where the name is none of the table: a pattern's.
const Mechanism* find_mechanism(std::string_view name) {
  const auto found = std::find_if(kMechanisms.begin(), kMechanisms.end(),
                                  [&](const Mechanism& mechanism) { return mechanism.name == name; });
  return found == kMechanisms.end() ? nullptr : &*found;
}

/// Errors: kExpression with a caret where the expression begins with a name that neither a pattern nor a mechanism has.
void check_first_name(const std::string& expression) {
  const pattern::Token first = pattern::tokenize(expression).front();
  const bool has_own_message = first.text == "input" || first.text == "layer";  // names with a place of their own
  if (first.kind != pattern::TokenKind::kName || pattern::find_name(first.text) != nullptr || has_own_message) {
    return;
  }
  const std::vector<std::string_view> patterns = pattern::all_names();
  std::vector<std::string_view> candidates = patterns;
  candidates.insert(candidates.end(), pattern::kMechanismNames.begin(), pattern::kMechanismNames.end());
  std::string lower(first.text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string_view meant = nearest_name(lower, candidates);
  const std::string help = !meant.empty() ? concat(", did you mean '", meant, "'?")
                                          : concat("; the patterns are ", joined(patterns, ", "),
                                                   "; the mechanisms are ", joined(pattern::kMechanismNames, ", "));
  pattern::fail_at(expression, first.where, concat("unknown name ", pattern::describe(first), help));
}

MechanismSpec parse_pattern(const std::string& expression, const std::filesystem::path& directory) {
  check_first_name(expression);
  for (const pattern::Token& token : pattern::tokenize(expression)) {
    pattern::refuse_mechanism_name(expression, token, ": it stands alone, and is not combined with patterns");
  }
  return pattern_mechanism(pattern::Pattern::parse(expression, directory));
}

}  // namespace

MechanismSpec parse_mechanism(const std::string& expression, const std::filesystem::path& directory) {
  const Mechanism* mechanism = find_mechanism(first_name(expression));
  return mechanism != nullptr ? mechanism->parse(expression) : parse_pattern(expression, directory);
}

std::shared_ptr<AttentionImpl> make_attention(const MechanismSpec& spec, const MechanismSite& site,
                                              const at::TensorOptions& options) {
  MechanismSpec here = at_site(spec, site);
  const Mechanism* mechanism = find_mechanism(here.name);
  if (mechanism != nullptr) {
    return mechanism->build(here, site, options);
  }
  return std::make_shared<PatternAttention>(std::move(here), site, options);
}

std::shared_ptr<AttentionImpl> make_attention(const std::string& expression, const MechanismSite& site,
                                              const at::TensorOptions& options) {
  return make_attention(parse_mechanism(expression, site.directory), site, options);
}

std::shared_ptr<AttentionImpl> make_attention(const pattern::Pattern& pattern, const MechanismSite& site) {
  return make_attention(pattern_mechanism(pattern), site);
}

}  // namespace weft::attention
