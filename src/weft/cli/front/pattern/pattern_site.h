// SPDX-License-Identifier: Apache-2.0
// The commands below `weft pattern`, and what they share: the flags that make a site, and lists of numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/pattern/pattern.h"

namespace weft::cli {

/// The longest sequence that the commands below `weft pattern` take.
constexpr double kLongestSite = std::int64_t{1} << 31;

/// Fields that several of these commands have; `Config` has the members.
template <typename Config>
auto layer_field() {
  return Field{"layer", &Config::layer, "the number that `layer` means in the expression"}.range(0, 4095);
}

template <typename Config>
auto max_length_field() {
  return Field{
      "max_length", &Config::max_length,
      "the longest sequence that the model was made for, which the released BigBird plans depend on; 0 if unknown"}
      .range(0, kLongestSite);
}

template <typename Config>
auto input_field() {
  return Field{"input", &Config::input, "positions that `input` means in the expression, for example 0,5,17"};
}

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
    visit(Field{"length", &C::length, "tokens of the sequence: as many queries as keys"}.range(1, kLongestSite));
    visit(Field{"heads", &C::heads, "attention heads of the layer"}.range(1, 4096));
    visit(Field{"head", &C::head, "measure this head only, counted from 0; -1 unites the edges of all heads"}.range(
        -1, 4095));
    visit(layer_field<C>());
    visit(max_length_field<C>());
    visit(input_field<C>());
  }
};

/// The numbers between `separator`s; an empty text is none. Errors: UsageError that names the flag.
std::vector<std::int64_t> number_list(const std::string& flag, const std::string& text, char separator);

/// Errors: UsageError where the layer does not have head number `head`; -1 is all of them.
void require_head(std::int64_t head, std::int64_t heads);

/// Errors: UsageError where both pictures would be one file.
void check_picture_files(const std::string& svg, const std::string& png);

/// Warns where positions are given and no pattern names `input`. Errors: UsageError where one does and none are given.
void require_input(std::span<const pattern::Pattern> patterns, const std::vector<std::int64_t>& input);

/// A site and the positions that it refers to.
struct BoundSite {
  std::vector<std::int64_t> input;
  pattern::Site site;
};

/// The site's flags out of all that were given. Errors: UsageError where --length is missing.
PatternSiteConfig read_site(const formats::Json& given, const std::string& command);

/// Errors: those of require_input().
BoundSite bind_site(const PatternSiteConfig& config, const std::vector<pattern::Pattern>& patterns);

/// Each adds its command, flags and callback to the app of `weft pattern`.
void add_pattern_show(CLI::App& parent);
void add_pattern_stats(CLI::App& parent);
void add_pattern_sweep(CLI::App& parent);
void add_pattern_compare(CLI::App& parent);
void add_pattern_cost(CLI::App& parent);

}  // namespace weft::cli
