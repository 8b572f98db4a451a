// SPDX-License-Identifier: Apache-2.0
// What the commands below `weft pattern` share: the flags that make a site, and lists of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/pattern/pattern.h"

namespace weft::cli {

/// A square site: as many queries as keys.
struct PatternSiteConfig {
  std::int64_t length = 0;
  std::int64_t heads = 1;
  std::int64_t head = -1;
  std::int64_t layer = 0;
  std::int64_t max_length = 0;
  std::string input;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = PatternSiteConfig;
    constexpr double kLongest = std::int64_t{1} << 31;
    visit(Field{"length", &C::length, "tokens of the sequence: as many queries as keys"}.range(1, kLongest));
    visit(Field{"heads", &C::heads, "attention heads of the layer"}.range(1, 4096));
    visit(Field{"head", &C::head, "measure this head only, counted from 0; -1 unites the edges of all heads"}.range(
        -1, 4095));
    visit(Field{"layer", &C::layer, "the number that `layer` means in the expression"}.range(0, 4095));
    visit(Field{
        "max_length", &C::max_length,
        "the longest sequence that the model was made for, which the released BigBird plans depend on; 0 if unknown"}
              .range(0, kLongest));
    visit(Field{"input", &C::input, "positions that `input` means in the expression, for example 0,5,17"});
  }
};

/// The numbers between `separator`s; an empty text is none. Errors: UsageError that names the flag.
std::vector<std::int64_t> number_list(const std::string& flag, const std::string& text, char separator);

/// Errors: UsageError where the layer does not have head number `head`; -1 is all of them.
void require_head(std::int64_t head, std::int64_t heads);

/// Errors: UsageError where `pattern` names `input` and no positions are given.
void require_input(const pattern::Pattern& pattern, const std::vector<std::int64_t>& input);

/// A site and the positions that it refers to.
struct BoundSite {
  std::vector<std::int64_t> input;
  pattern::Site site;
};

/// The site's flags out of all that were given. Errors: UsageError where --length is missing.
PatternSiteConfig read_site(const formats::Json& given, const std::string& command);

/// Errors: UsageError where a pattern names `input` and no positions are given.
BoundSite bind_site(const PatternSiteConfig& config, const std::vector<pattern::Pattern>& patterns);

}  // namespace weft::cli
