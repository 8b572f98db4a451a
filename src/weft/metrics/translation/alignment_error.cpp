// SPDX-License-Identifier: Apache-2.0
// Sets of links, so that one that is written twice counts once.
#include "weft/metrics/translation/alignment_error.h"

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/metrics/translation/code_points.h"

namespace weft::metrics {
namespace {

std::optional<double> share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? std::nullopt : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Alignment parse_alignment(std::string_view line, std::int64_t first) {
  constexpr std::int64_t kMostWords = std::int64_t{1} << 31;
  Alignment alignment;
  for (const std::string_view word : words_of(line)) {
    const std::size_t sign = word.find_first_not_of("0123456789");
    const auto number = [&](std::string_view text) {
      const std::optional<std::int64_t> value = integer_of(text);
      return value && *value >= first && *value < kMostWords ? std::optional(*value - first) : std::nullopt;
    };
    const bool split = sign != std::string_view::npos && std::string_view("-p?").find(word[sign]) != std::string::npos;
    const auto source = split ? number(word.substr(0, sign)) : std::nullopt;
    const auto target = split ? number(word.substr(sign + 1)) : std::nullopt;
    if (!source || !target) {
      fail(ErrorKind::kFormat, "a link must be two numbers from ", first,
           " on with '-' (sure), 'p' or '?' (possible) "
           "between them, found ",
           quote(word));
    }
    (word[sign] == '-' ? alignment.sure : alignment.possible).emplace(*source, *target);
  }
  for (const AlignmentLink& link : alignment.sure) {
    alignment.possible.erase(link);
  }
  return alignment;
}

std::string pharaoh_text(const AlignmentLinks& links) {
  return joined(links, " ", [](const AlignmentLink& link) { return concat(link.first, "-", link.second); });
}

void check_words(const Alignment& alignment, std::int64_t source_words, std::int64_t target_words) {
  for (const AlignmentLinks* links : {&alignment.sure, &alignment.possible}) {
    for (const auto& [source, target] : *links) {
      if (source >= source_words || target >= target_words) {
        fail(ErrorKind::kFormat, "the link from word ", source, " to word ", target, " (from 0) is in a pair of ",
             source_words, " and ", target_words, " words");
      }
    }
  }
}

void AlignmentScorer::add(const Alignment& found, const Alignment& truth) {
  AlignmentLinks links = found.sure;
  links.insert(found.possible.begin(), found.possible.end());
  for (const AlignmentLink& link : links) {
    const bool sure = truth.sure.contains(link);
    found_sure_ += sure ? 1 : 0;
    found_possible_ += sure || truth.possible.contains(link) ? 1 : 0;
  }
  found_ += static_cast<std::int64_t>(links.size());
  sure_ += static_cast<std::int64_t>(truth.sure.size());
  ++sentences_;
}

std::optional<double> AlignmentScorer::error_rate() const {
  const std::optional<double> right = share(found_sure_ + found_possible_, found_ + sure_);
  return right ? std::optional(1.0 - *right) : std::nullopt;
}

std::optional<double> AlignmentScorer::precision() const { return share(found_possible_, found_); }
std::optional<double> AlignmentScorer::recall() const { return share(found_sure_, sure_); }

}  // namespace weft::metrics
