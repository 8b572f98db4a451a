// SPDX-License-Identifier: Apache-2.0
// A tree is read as the program reads one: "(LABEL WORD)" is a word, any other bracket a span, whatever lies in it.
#include "weft/metrics/parsing/evalb.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace weft::metrics {
namespace {

constexpr std::array<std::string_view, 7> kCollinsDropped = {"TOP", "-NONE-", ",", ":", "``", "''", "."};
constexpr std::string_view kEvalbBlanks = " \t\n\v\f\r";
constexpr std::string_view kEvalbEnds = " \t\n\v\f\r()";

struct ScoredWord {
  std::string_view word;
  std::string_view tag;
};

struct ScoredSpan {
  std::string_view label;
  std::size_t from = 0;  // words before it, those that are left out not counted
  std::size_t to = 0;
};

// A line as the program reads it.
struct ScoredTree {
  std::vector<ScoredWord> words;
  std::vector<ScoredSpan> spans;
  std::int64_t length = 0;  // words with punctuation, without traces
  bool broken = false;
};

using Dropped = std::vector<std::string>;

bool is_dropped(const Dropped& dropped, std::string_view label) {
  return std::find(dropped.begin(), dropped.end(), label) != dropped.end();
}

class LineReader {
 public:
  LineReader(std::string_view line, const Dropped& dropped) : line_(line), dropped_(dropped) {}

  ScoredTree read() {
    while (at_ < line_.size() && !stuck_) {
      if (kEvalbBlanks.find(line_[at_]) != std::string_view::npos) {
        ++at_;
      } else if (line_[at_] == '(') {
        open();
      } else if (line_[at_] == ')') {
        close();
      } else {
        stuck_ = true;
      }
    }
    tree_.broken = tree_.broken || stuck_ || !open_.empty();
    return std::move(tree_);
  }

 private:
  std::string_view symbol_at(std::size_t at) const {
    return line_.substr(at, std::min(line_.find_first_of(kEvalbEnds, at), line_.size()) - at);
  }

  void open() {
    const std::string_view label = symbol_at(at_ + 1);
    at_ += 1 + label.size();
    const std::size_t begin = std::min(line_.find_first_not_of(kEvalbBlanks, at_), line_.size());
    const std::string_view word = begin > at_ ? symbol_at(begin) : std::string_view();
    const std::size_t end = begin + word.size();
    if (begin > at_ && end < line_.size() && line_[end] == ')') {
      tree_.length += label == "-NONE-" ? 0 : 1;
      if (!is_dropped(dropped_, label)) {
        tree_.words.push_back({word, label});
      }
      at_ = end + 1;
      return;
    }
    tree_.broken = tree_.broken || (begin > at_ && (end == line_.size() || line_[end] != '('));
    open_.push_back(tree_.spans.size());
    tree_.spans.push_back({label, tree_.words.size(), tree_.words.size()});
  }

  void close() {
    if (open_.empty()) {
      stuck_ = true;
      return;
    }
    tree_.spans[open_.back()].to = tree_.words.size();
    open_.pop_back();
    ++at_;
  }

  std::string_view line_;
  const Dropped& dropped_;
  std::size_t at_ = 0;
  bool stuck_ = false;
  ScoredTree tree_;
  std::vector<std::size_t> open_;
};

bool same_label(std::string_view a, std::string_view b) {
  return a == b || (a == "ADVP" && b == "PRT") || (a == "PRT" && b == "ADVP");
}

// Spans that count: not empty, labels up to the first - or =. A label that is left out takes the one that equals it
// along; a word's tag does not.
void keep_counted(std::vector<ScoredSpan>& spans, const Dropped& dropped) {
  for (ScoredSpan& span : spans) {
    span.label = span.label.substr(0, span.label.find_first_of("-="));
  }
  std::erase_if(spans, [&](const ScoredSpan& span) {
    return span.from == span.to || std::any_of(dropped.begin(), dropped.end(),
                                               [&](const auto& label) { return same_label(label, span.label); });
  });
}

// Each predicted span is right at most once: the first true one in the order of the text takes the first that fits.
std::int64_t matches(const std::vector<ScoredSpan>& truth, const std::vector<ScoredSpan>& predicted) {
  std::vector<bool> taken(predicted.size());
  std::int64_t count = 0;
  for (const ScoredSpan& span : truth) {
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      const ScoredSpan& other = predicted[i];
      if (!taken[i] && span.from == other.from && span.to == other.to && same_label(span.label, other.label)) {
        taken[i] = true;
        ++count;
        break;
      }
    }
  }
  return count;
}

std::int64_t crossings(const std::vector<ScoredSpan>& truth, const std::vector<ScoredSpan>& predicted) {
  return std::count_if(predicted.begin(), predicted.end(), [&](const ScoredSpan& span) {
    return std::any_of(truth.begin(), truth.end(), [&](const ScoredSpan& gold) {
      return (gold.from < span.from && gold.to > span.from && gold.to < span.to) ||
             (gold.from > span.from && gold.from < span.to && gold.to > span.to);
    });
  });
}

// What one sentence adds.
EvalbSums sums_of(ScoredTree predicted, ScoredTree truth, const Dropped& dropped) {
  EvalbSums sums{.sentences = 1};
  const bool same_words = std::equal(predicted.words.begin(), predicted.words.end(), truth.words.begin(),
                                     truth.words.end(), [](const auto& a, const auto& b) { return a.word == b.word; });
  sums.skipped = predicted.words.empty() ? 1 : 0;
  sums.errors = sums.skipped == 0 && (predicted.broken || truth.broken || !same_words) ? 1 : 0;
  keep_counted(truth.spans, dropped);
  if (sums.skipped + sums.errors > 0) {
    sums.missed_gold = static_cast<std::int64_t>(truth.spans.size());
    return sums;
  }
  keep_counted(predicted.spans, dropped);
  sums.gold = static_cast<std::int64_t>(truth.spans.size());
  sums.predicted = static_cast<std::int64_t>(predicted.spans.size());
  sums.matched = matches(truth.spans, predicted.spans);
  sums.complete = sums.gold == sums.predicted && sums.matched == sums.gold ? 1 : 0;
  sums.crossing = crossings(truth.spans, predicted.spans);
  sums.without_crossing = sums.crossing == 0 ? 1 : 0;
  sums.with_two_crossing = sums.crossing <= 2 ? 1 : 0;
  sums.words = static_cast<std::int64_t>(truth.words.size());
  for (std::size_t i = 0; i < truth.words.size(); ++i) {
    sums.tags += same_label(truth.words[i].tag, predicted.words[i].tag) ? 1 : 0;
  }
  return sums;
}

void add_sums(EvalbSums& total, const EvalbSums& one) {
  for (std::int64_t EvalbSums::* member :
       {&EvalbSums::sentences, &EvalbSums::errors, &EvalbSums::skipped, &EvalbSums::gold, &EvalbSums::predicted,
        &EvalbSums::matched, &EvalbSums::complete, &EvalbSums::crossing, &EvalbSums::without_crossing,
        &EvalbSums::with_two_crossing, &EvalbSums::words, &EvalbSums::tags, &EvalbSums::missed_gold}) {
    total.*member += one.*member;
  }
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double harmonic(double precision, double recall) {
  return precision + recall == 0.0 ? 0.0 : 2 * precision * recall / (precision + recall);
}

}  // namespace

double EvalbSums::recall() const noexcept { return percent(matched, gold); }
double EvalbSums::precision() const noexcept { return percent(matched, predicted); }
double EvalbSums::f1() const noexcept { return harmonic(precision(), recall()); }
double EvalbSums::recall_of_all() const noexcept { return percent(matched, gold + missed_gold); }
double EvalbSums::f1_of_all() const noexcept { return harmonic(precision(), recall_of_all()); }

EvalbScorer::EvalbScorer(EvalbRules rules)
    : rules_(std::move(rules)), dropped_(kCollinsDropped.begin(), kCollinsDropped.end()) {
  dropped_.insert(dropped_.end(), rules_.dropped.begin(), rules_.dropped.end());
}

void EvalbScorer::add(std::string_view predicted, std::string_view truth) {
  ScoredTree gold = LineReader(truth, dropped_).read();
  const std::int64_t length = gold.length;
  const EvalbSums sums = sums_of(LineReader(predicted, dropped_).read(), std::move(gold), dropped_);
  add_sums(report_.all, sums);
  if (length <= rules_.longest) {
    add_sums(report_.up_to_longest, sums);
  }
}

}  // namespace weft::metrics
