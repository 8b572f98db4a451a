// SPDX-License-Identifier: Apache-2.0
// More answers are asked for than are wanted, because some may go over the end of a passage.
#include "weft/tasks/search/retrieved_answer.h"

#include <algorithm>
#include <utility>

namespace weft::tasks {
namespace {

using formats::Json;

constexpr std::int64_t kSpareAnswers = 32;

Json no_answer_from_store(double score, const Json& logit) {
  return {{"answer", ""},       {"score", score},        {"logit", logit},     {"id", nullptr},
          {"passage", nullptr}, {"byte_start", nullptr}, {"byte_end", nullptr}};
}

// The answers that stand in one passage, at most `count`.
Json placed_answers(const Json& answers, const ReadPassages& passages, std::int64_t count, std::int64_t& left_out) {
  Json placed = Json::array();
  for (const Json& answer : answers) {
    if (std::cmp_greater_equal(placed.size(), count)) {
      break;
    }
    if (answer["answer"].get_ref<const std::string&>().empty()) {
      placed.push_back(no_answer_from_store(answer["score"].get<double>(), answer["logit"]));
      continue;
    }
    Json place = passages.place(answer["byte_start"].get<std::int64_t>(), answer["byte_end"].get<std::int64_t>());
    if (place.is_null()) {
      ++left_out;
      continue;
    }
    Json entry = {{"answer", answer["answer"]}, {"score", answer["score"]}, {"logit", answer["logit"]}};
    entry.update(place);
    placed.push_back(std::move(entry));
  }
  return placed;
}

}  // namespace

void ReadPassages::add(const store::Passage& passage) {
  text_ += text_.empty() ? "" : "\n\n";
  const auto start = static_cast<std::int64_t>(text_.size());
  text_ += store::readable(passage);
  const auto end = static_cast<std::int64_t>(text_.size());
  places_.push_back({passage.id, start, end - static_cast<std::int64_t>(passage.text.size()), end, passage.begin});
}

Json ReadPassages::place(std::int64_t begin, std::int64_t end) const {
  const auto found = std::find_if(places_.begin(), places_.end(),
                                  [&](const Place& place) { return begin >= place.start && begin < place.end; });
  if (found == places_.end() || end > found->end || (begin < found->text_start && end > found->text_start)) {
    return nullptr;
  }
  Json place = {
      {"id", found->id}, {"passage", found - places_.begin() + 1}, {"byte_start", nullptr}, {"byte_end", nullptr}};
  if (begin >= found->text_start) {
    place["byte_start"] = found->in_text + begin - found->text_start;
    place["byte_end"] = found->in_text + end - found->text_start;
  }
  return place;
}

TaskResult answer_from_store(store::StoreSearch& search, SearchModels& models, TaskModel& reader,
                             const std::string& question, const RetrieveConfig& config,
                             const AnswerTaskOptions& options) {
  check_question(question, search.store().name());
  SearchConfig finding;
  finding.by = config.by;
  finding.depth = std::max(config.depth, config.passages);
  const std::vector<store::Hit> hits = search_passages(search, models, question, finding, config.passages);
  ReadPassages passages;
  Json read = Json::array();
  for (const store::Hit& hit : hits) {
    const store::Passage passage = search.store().passage(hit.passage);
    passages.add(passage);
    read.push_back({{"id", passage.id}, {"begin", passage.begin}, {"score", hit.score}});
  }
  TaskResult result{Json::array(), Json::object()};
  std::int64_t left_out = 0;
  if (!passages.empty()) {
    const Document document{question, passages.text(), "the passages of " + search.store().name()};
    AnswerTaskOptions more = options;
    more.top_k += kSpareAnswers;
    TaskResult answers = answer(reader, {&document, 1}, more).front();
    result.metadata = std::move(answers.metadata);
    result.result = placed_answers(answers.result, passages, options.top_k, left_out);
  }
  result.metadata["passages"] = std::move(read);
  result.metadata["left_out"] = left_out;
  if (result.result.empty()) {
    result.result.push_back(no_answer_from_store(0.0, nullptr));
  }
  result.result = options.top_k == 1 ? Json(result.result.front()) : std::move(result.result);
  return result;
}

}  // namespace weft::tasks
