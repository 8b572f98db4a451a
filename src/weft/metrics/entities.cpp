// SPDX-License-Identifier: Apache-2.0
// Where a chunk ends and begins follows from two neighbouring tags alone, as in seqeval's end_of_chunk and
// start_of_chunk.
#include "weft/metrics/entities.h"

#include <algorithm>
#include <set>

#include "weft/core/error.h"
#include "weft/metrics/sums.h"

namespace weft::metrics {
namespace {

struct Tag {
  char place = 'O';
  std::string_view type;
};

Tag parse_tag(std::string_view text) {
  require(!text.empty(), "a tag must not be empty: expected O, or B-type and the like");
  std::string_view type = text.substr(1);
  if (const std::size_t dash = type.find('-'); dash != std::string_view::npos) {
    type.remove_prefix(dash + 1);
  }
  return {text.front(), type.empty() ? "_" : type};
}

bool is_one_of(char place, std::string_view places) { return places.find(place) != std::string_view::npos; }

// A change of type ends one chunk and begins another, unless the place says that there is none.
bool other_type(const Tag& inside, const Tag& before, const Tag& now) {
  return !is_one_of(inside.place, "O.") && before.type != now.type;
}

bool ends(const Tag& before, const Tag& now) {
  return is_one_of(before.place, "ES") || (is_one_of(before.place, "BI") && is_one_of(now.place, "BSO")) ||
         other_type(before, before, now);
}

bool begins(const Tag& before, const Tag& now) {
  return is_one_of(now.place, "BS") || (is_one_of(before.place, "ESO") && is_one_of(now.place, "EI")) ||
         other_type(now, before, now);
}

double divided(double part, double whole) { return whole == 0.0 ? 0.0 : part / whole; }

// seqeval takes F1 from precision and recall where scikit-learn takes it from the counts: the last bit differs.
Scores entity_scores(const Counts& counts) {
  const double precision = divided(static_cast<double>(counts.correct), static_cast<double>(counts.predicted));
  const double recall = divided(static_cast<double>(counts.correct), static_cast<double>(counts.actual));
  return {precision, recall, divided(2 * precision * recall, precision + recall)};
}

using Member = double Scores::*;

std::vector<double> column(const std::vector<EntityScores>& types, Member member) {
  std::vector<double> values;
  values.reserve(types.size());
  for (const EntityScores& type : types) {
    values.push_back(type.scores.*member);
  }
  return values;
}

Scores over_types(const std::vector<EntityScores>& types, bool weighted) {
  std::vector<double> weights;
  weights.reserve(types.size());
  for (const EntityScores& type : types) {
    weights.push_back(static_cast<double>(type.support));
  }
  Scores result;
  if (types.empty() || (weighted && pairwise_sum(weights) == 0.0)) {
    return result;
  }
  for (const Member member : {&Scores::precision, &Scores::recall, &Scores::f1}) {
    const std::vector<double> values = column(types, member);
    result.*member = weighted ? weighted_mean(values, weights) : mean(values);
  }
  return result;
}

}  // namespace

std::vector<Entity> find_entities(std::span<const std::string> tags) {
  std::vector<Entity> found;
  const auto count = static_cast<std::int64_t>(tags.size());
  Tag before;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i <= count; ++i) {
    // A word behind the last, which ends what is open.
    const Tag now = i < count ? parse_tag(tags[static_cast<std::size_t>(i)]) : parse_tag("O");
    if (ends(before, now)) {
      found.push_back({std::string(before.type), begin, i});
    }
    if (begins(before, now)) {
      begin = i;
    }
    before = now;
  }
  return found;
}

void EntityScorer::add(std::span<const std::string> truth, std::span<const std::string> predicted) {
  require(truth.size() == predicted.size(), "a sentence needs one predicted tag a word: expected ", truth.size(),
          ", found ", predicted.size());
  tags_ += static_cast<std::int64_t>(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    right_tags_ += truth[i] == predicted[i] ? 1 : 0;
  }
  const std::vector<Entity> actual_list = find_entities(truth);
  // seqeval compares sets.
  const std::set<Entity> actual(actual_list.begin(), actual_list.end());
  for (const Entity& entity : actual) {
    ++types_[entity.type].actual;
  }
  const std::vector<Entity> guessed_list = find_entities(predicted);
  for (const Entity& entity : std::set<Entity>(guessed_list.begin(), guessed_list.end())) {
    Counts& counts = types_[entity.type];
    ++counts.predicted;
    counts.correct += actual.contains(entity) ? 1 : 0;
  }
}

EntityReport EntityScorer::report() const {
  EntityReport report;
  Counts total;
  for (const auto& [type, counts] : types_) {
    report.types.push_back({type, entity_scores(counts), counts.actual});
    total.correct += counts.correct;
    total.predicted += counts.predicted;
    total.actual += counts.actual;
  }
  report.micro = entity_scores(total);
  report.macro = over_types(report.types, false);
  report.weighted = over_types(report.types, true);
  report.accuracy = divided(static_cast<double>(right_tags_), static_cast<double>(tags_));
  report.support = total.actual;
  return report;
}

}  // namespace weft::metrics
