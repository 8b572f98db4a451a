// SPDX-License-Identifier: Apache-2.0
// From flags to a site.
#include "weft/cli/front/pattern/pattern_site.h"

#include <algorithm>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"

namespace weft::cli {

std::vector<std::int64_t> number_list(const std::string& flag, const std::string& text, char separator) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<std::int64_t> values;
  parse_value(flag, words, values);
  return values;
}

PatternSiteConfig read_site(const formats::Json& given, const std::string& command) {
  if (!given.contains("length")) {
    throw UsageError(command + " needs --length N", "for example: --length 1024");
  }
  PatternSiteConfig config;
  formats::update_from_json(config, only_fields_of<PatternSiteConfig>(given), command);
  require_head(config.head, config.heads);
  return config;
}

void require_head(std::int64_t head, std::int64_t heads) {
  if (head >= heads) {
    throw UsageError(concat("--head must be from 0 to ", heads - 1, ", since --heads is ", heads, "; found ", head),
                     concat("for example: --heads ", head + 1, " --head ", head));
  }
}

void check_picture_files(const std::string& svg, const std::string& png) {
  if (!svg.empty() && svg == png) {
    throw UsageError(concat("--svg and --png are two files, found ", quote(svg, 4096), " for both"));
  }
}

void require_input(std::span<const pattern::Pattern> patterns, const std::vector<std::int64_t>& input) {
  const bool is_named = std::any_of(patterns.begin(), patterns.end(),
                                    [](const pattern::Pattern& pattern) { return pattern.needs_input(); });
  if (is_named && input.empty()) {
    throw UsageError("the expression contains `input`, so it needs positions: --input", "for example: --input 0,5");
  }
  if (!is_named && !input.empty()) {
    log_warning("--input has no effect: the expression does not contain `input`");
  }
}

BoundSite bind_site(const PatternSiteConfig& config, const std::vector<pattern::Pattern>& patterns) {
  BoundSite bound;
  bound.input = number_list("--input", config.input, ',');
  std::sort(bound.input.begin(), bound.input.end());
  require_input(patterns, bound.input);
  bound.site.query_length = config.length;
  bound.site.key_length = config.length;
  bound.site.heads = config.heads;
  bound.site.layer = config.layer;
  bound.site.maximum_length = config.max_length;
  bound.site.input = bound.input;
  return bound;
}

}  // namespace weft::cli
