// SPDX-License-Identifier: Apache-2.0
// The other direction reads the pairs turned round, and its links are turned back.
#include "weft/tasks/sequences/aligner.h"

#include <utility>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/metrics/translation/symmetrize.h"
#include "weft/tasks/sequences/alignment_result.h"

namespace weft::tasks {
namespace {

using formats::Json;

Json about(const AlignModel& model, const AlignedPair& pair) {
  const AlignmentSite& site = model.site;
  return {{"source_tokens", pair.source_tokens},
          {"target_tokens", pair.target_tokens},
          {"one_by_one", pair.one_by_one},
          {"too_long", pair.too_long},
          {"layer", site.layer},
          {"heads", site.heads.empty() ? Json("all") : Json(site.heads)},
          {"shift", site.shift}};
}

}  // namespace

void PairCount::count(bool is_one, const std::string& name) {
  first_ = is_one && count_ == 0 ? name : first_;
  count_ += is_one ? 1 : 0;
}

void PairCount::warn(const char* what) const {
  if (count_ > 0) {
    log_warning(count_ == 1 ? "1 pair was " : concat(count_, " pairs were "), what, " (",
                count_ == 1 ? "" : "first: ", first_, ")");
  }
}

Aligner::Aligner(AlignModel forward, std::optional<AlignModel> backward, AlignerRules rules)
    : forward_(std::move(forward)), backward_(std::move(backward)), rules_(std::move(rules)) {}

std::vector<TaskResult> Aligner::operator()(std::span<const Document> pairs) {
  const std::vector<AlignedPair> forward = align(forward_, pairs, rules_.batch);
  std::vector<AlignedPair> backward;
  if (backward_) {
    std::vector<Document> turned;
    for (const Document& pair : pairs) {
      turned.push_back(
          {.first = pair.second.value_or(""), .second = pair.first, .name = concat(pair.name, ", the other way")});
    }
    backward = align(*backward_, turned, rules_.batch);
  }
  std::vector<TaskResult> results;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    results.push_back(result_of(forward[i], backward_ ? &backward[i] : nullptr));
    one_by_one_.count(forward[i].one_by_one || (backward_ && backward[i].one_by_one), pairs[i].name);
    too_long_.count(forward[i].too_long || (backward_ && backward[i].too_long), pairs[i].name);
  }
  return results;
}

void Aligner::warn() const {
  one_by_one_.warn(
      "read word by word: the tokeniser has tokens that lie in two words, or cuts a word otherwise when it stands "
      "alone");
  too_long_.warn("without links: a text is longer than the model reads");
}

TaskResult Aligner::result_of(const AlignedPair& forward, const AlignedPair* backward) const {
  metrics::AlignmentLinks found = forward.link_set();
  LinkShares reverse;
  if (backward != nullptr) {
    metrics::AlignmentLinks turned;
    for (const auto& [link, probability] : backward->links) {
      turned.emplace(link.second, link.first);
      reverse[{link.second, link.first}] = probability;
    }
    found = metrics::symmetrized(found, turned, rules_.symmetrize);
  }
  Json metadata = about(forward_, forward);
  if (backward != nullptr) {
    metadata["reverse"] = about(*backward_, *backward);
  }
  return {.result = alignment_result(forward, found, backward != nullptr ? &reverse : nullptr),
          .metadata = std::move(metadata)};
}

void GoldAlignments::take(const TaskResult& found) {
  readers::InputText line;
  ++pairs_;
  if (!lines_.next(line)) {
    fail_on_pairs(pairs_ - 1, "more");
  }
  try {
    const metrics::Alignment truth = metrics::parse_alignment(line.first, first_);
    metrics::check_words(truth, std::ssize(found.result["source_words"]), std::ssize(found.result["target_words"]));
    scorer_.add(metrics::parse_alignment(found.result["alignment"].get<std::string>()), truth);
  } catch (const Error& error) {
    throw Error(error.kind(), concat(line.where, ": ", error.what()), error.hint());
  }
}

const metrics::AlignmentScorer& GoldAlignments::finish() {
  const std::int64_t lines = lines_.count_all();
  if (lines != pairs_) {
    fail_on_pairs(lines, concat(pairs_));
  }
  return scorer_;
}

void GoldAlignments::fail_on_pairs(std::int64_t lines, const std::string& pairs) const {
  throw Error(ErrorKind::kFormat, concat(lines_.name(), " has ", lines, " lines, but there are ", pairs, " pairs"),
              "line N holds the links of pair N; an empty line is a line too");
}

}  // namespace weft::tasks
