// SPDX-License-Identifier: Apache-2.0
// Counts are whole numbers to the end. What follows is computed in sacrebleu's order: in float64 for the corpus, and
// for resamples with precisions in float32, as NumPy 2 computes them there.
#include "weft/metrics/translation/bleu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/metrics/translation/bleu_words.h"
#include "weft/metrics/translation/code_points.h"
#include "weft/metrics/translation/gram_counts.h"
#include "weft/text/utf8.h"

namespace weft::metrics {
namespace {

template <typename... Values>
std::string printed(const char* format, Values... values) {
  std::array<char, 128> text{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): rounds as Python's format does
  const int length = std::snprintf(text.data(), text.size(), format, values...);
  return {text.data(), static_cast<std::size_t>(std::clamp<int>(length, 0, text.size() - 1))};
}

double value_of(const BleuOptions& options) {
  const double usual = options.smoothing == "floor" ? 0.1 : 1.0;
  return options.smoothing_value < 0 ? usual : options.smoothing_value;
}

double floored_log(double number) { return number == 0 ? -9999999999.0 : std::log(number); }

// Precisions in percent by order, smoothed; those behind `orders` are not computed.
template <typename Real>
struct Precisions {
  std::vector<Real> percent;
  std::int64_t orders;
};

template <typename Real>
Precisions<Real> precisions_of(std::vector<Real> matches, std::vector<Real> totals, const BleuOptions& options) {
  Precisions<Real> result{std::vector<Real>(matches.size()), options.max_order};
  const auto added = static_cast<Real>(value_of(options));
  Real halving = 1;
  for (std::size_t n = 0; n < matches.size(); ++n) {
    if (options.smoothing == "add-k" && n > 0) {
      matches[n] += added;
      totals[n] += added;
    }
    if (totals[n] == 0) {
      break;
    }
    if (options.effective_order) {
      result.orders = static_cast<std::int64_t>(n) + 1;
    }
    if (matches[n] != 0) {
      result.percent[n] = Real{100} * matches[n] / totals[n];
    } else if (options.smoothing == "exp") {
      halving *= 2;
      result.percent[n] = Real{100} / (halving * totals[n]);
    } else if (options.smoothing == "floor") {
      result.percent[n] = static_cast<Real>(100.0 * value_of(options)) / totals[n];
    }
  }
  return result;
}

double brevity_penalty_of(std::int64_t hypothesis, std::int64_t reference) {
  if (hypothesis >= reference) {
    return 1.0;
  }
  return hypothesis == 0 ? 0.0 : std::exp(1 - static_cast<double>(reference) / static_cast<double>(hypothesis));
}

// compute_bleu of sacrebleu over one row of sums.
template <typename Real, typename Sum>
BleuScore bleu_of(std::span<const Sum> sums, const BleuOptions& options) {
  const auto orders = static_cast<std::ptrdiff_t>(options.max_order);
  BleuScore result;
  result.hypothesis_length = static_cast<std::int64_t>(sums[0]);
  result.reference_length = static_cast<std::int64_t>(sums[1]);
  result.brevity_penalty = brevity_penalty_of(result.hypothesis_length, result.reference_length);
  const std::vector<Real> matches(sums.begin() + 2, sums.begin() + 2 + orders);
  const std::vector<Real> totals(sums.begin() + 2 + orders, sums.end());
  if (std::all_of(matches.begin(), matches.end(), [](Real count) { return count == 0; })) {
    result.precisions.assign(matches.size(), 0.0);
    return result;
  }
  const Precisions<Real> precisions = precisions_of(matches, totals, options);
  result.precisions.assign(precisions.percent.begin(), precisions.percent.end());
  double logarithms = 0;
  for (std::int64_t n = 0; n < precisions.orders; ++n) {
    logarithms += floored_log(result.precisions[static_cast<std::size_t>(n)]);
  }
  result.score = result.brevity_penalty * std::exp(logarithms / static_cast<double>(precisions.orders));
  return result;
}

// The nearest length; of two that are as near, the shorter.
std::int64_t nearest_length(std::int64_t length, std::span<const Symbols> references) {
  std::int64_t nearest = -1;
  for (const Symbols& reference : references) {
    const auto found = static_cast<std::int64_t>(reference.size());
    const std::int64_t before = std::abs(length - nearest);
    const std::int64_t now = std::abs(length - found);
    if (nearest < 0 || now < before || (now == before && found < nearest)) {
      nearest = found;
    }
  }
  return nearest;
}

// The n-grams of the first text that are in any of the others, each as often as it is in that which has most of it.
std::int64_t matches_of(std::span<const GramCounts> texts) {
  std::int64_t matches = 0;
  for (std::size_t gram = 0; gram < texts.front().counts.size(); ++gram) {
    std::int64_t most = 0;
    for (const GramCounts& reference : texts.subspan(1)) {
      most = std::max(most, reference.of(gram));
    }
    matches += std::min(texts.front().counts[gram], most);
  }
  return matches;
}

}  // namespace

std::string BleuScore::verbose() const {
  const double ratio =
      reference_length == 0 ? 0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
  return joined(precisions, "/", [](double percent) { return printed("%.1f", percent); }) +
         printed(" (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)", brevity_penalty, ratio,
                 static_cast<long long>(hypothesis_length), static_cast<long long>(reference_length));
}

BleuScorer::BleuScorer(const BleuOptions& options) : options_(options) {
  check_fields(options_, "BLEU");
  const double value = options.smoothing_value;
  if (value != -1 && value < 0) {
    throw UsageError(concat("BLEU: ", option("smoothing_value"), " must be -1, or at least 0, found ", value));
  }
  if (value != -1 && options.smoothing != "floor" && options.smoothing != "add-k") {
    throw UsageError(
        concat("BLEU: ", option("smoothing_value"), " is for smoothing by floor and add-k, found ", options.smoothing));
  }
}

void BleuScorer::add(std::string_view hypothesis, std::span<const std::string> references) {
  require(!references.empty(), "BLEU needs a reference for every sentence, found none");
  const BleuWords kind = parse_bleu_words(options_.words);
  std::vector<std::string> spaced;
  const auto take = [&](std::string_view line) {
    const std::string text = options_.lowercase ? lower_case(line) : std::string(line);
    spaced.push_back(spaced_words(kind, text::strip_right(text)));
  };
  take(hypothesis);
  for (const std::string& reference : references) {
    take(reference);
  }
  SymbolTable table;
  std::vector<Symbols> texts;
  texts.reserve(spaced.size());
  for (const std::string& line : spaced) {
    texts.push_back(table.number(words_of(line)));
  }
  const auto length = static_cast<std::int64_t>(texts.front().size());
  std::vector<std::int64_t> row = {length, nearest_length(length, std::span(texts).subspan(1))};
  const std::vector<std::vector<GramCounts>> grams = count_grams(texts, options_.max_order);
  for (const std::vector<GramCounts>& order : grams) {
    row.push_back(matches_of(order));
  }
  for (const std::vector<GramCounts>& order : grams) {
    row.push_back(order.front().total);
  }
  statistics_.add(row);
  references_.add(references.size());
}

BleuScore BleuScorer::score() const {
  const std::vector<std::int64_t> sums = statistics_.sum();
  return bleu_of<double>(std::span<const std::int64_t>(sums), options_);
}

std::vector<double> BleuScorer::resampled(std::int64_t samples) const {
  std::vector<double> figures;
  statistics_.resample(samples,
                       [&](std::span<const float> sums) { figures.push_back(bleu_of<float>(sums, options_).score); });
  return figures;
}

BootstrapInterval BleuScorer::interval(std::int64_t samples) const { return interval_of(resampled(samples)); }

std::string BleuScorer::signature(std::int64_t samples) const {
  std::string smoothing = options_.smoothing;
  if (smoothing == "floor" || smoothing == "add-k") {
    smoothing += printed("[%.2f]", value_of(options_));
  }
  return concat(signature_head(references_, samples), "|case:", options_.lowercase ? "lc" : "mixed",
                "|eff:", options_.effective_order ? "yes" : "no", "|tok:", options_.words, "|smooth:", smoothing,
                "|version:", kSacrebleuVersion);
}

}  // namespace weft::metrics
