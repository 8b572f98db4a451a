// SPDX-License-Identifier: Apache-2.0
// What people say about which text answers which query, and how well a search does by it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/metrics/ranking.h"

namespace weft::store {

/// By query id, by text id: how relevant. 0 and less are not relevant, nor is what nobody judged.
using Judgements = std::map<std::string, std::map<std::string, std::int64_t>>;

/// A file of judgements (plain or gzip): BEIR's lines of query id, text id and relevance, whose first line is a header,
/// or TREC's, which have a number between the ids. Tabs or blanks are between the fields. Errors: kFormat naming file
/// and line for a line of another form and for a pair that comes twice.
Judgements read_judgements(const std::filesystem::path& file);

/// A text that a search found for a query.
struct RankedId {
  std::string id;
  double score = 0.0;
};

/// Takes the results of one query after another. As trec_eval does, scores are compared as float32, and of equal ones
/// the ids decide, the greater first.
class SearchEvaluation {
 public:
  explicit SearchEvaluation(const Judgements& judgements) : judgements_(judgements) {}

  /// `found` has each text once. A text with the id of the query is left out, as BEIR does. Nothing is counted for a
  /// query that nobody judged, and zeros for one of which no judged text is relevant.
  void add(const std::string& query, const std::vector<RankedId>& found);
  /// Nothing where no judged query was added.
  std::optional<metrics::RankingFigures> figures() const { return average_.figures(); }

 private:
  const Judgements& judgements_;
  metrics::RankingAverage average_{metrics::Unanswered::kZero};
};

}  // namespace weft::store
