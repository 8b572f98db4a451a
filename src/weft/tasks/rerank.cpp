// SPDX-License-Identifier: Apache-2.0
// One logit a pair, or one a window of it.
#include "weft/tasks/rerank.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/checkpoint/sentence/torch_activation.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/tasks/decode/scores.h"

namespace weft::tasks {
namespace {

using formats::Json;
using models::Head;

constexpr const char* kBestWindow = "best_window";

// What else a directory with that head is good for.
const char* command_for(Head head) {
  switch (head) {
    case Head::kMaskedLanguageModel:
      return "weft fill-mask";
    case Head::kTokenClassification:
    case Head::kReplacedTokens:
      return "weft tag";
    case Head::kQuestionAnswering:
      return "weft answer";
    case Head::kMultipleChoice:
      return "weft choose";
    case Head::kSequenceClassification:
      return "weft classify --pairs";
    case Head::kNone:
      break;
  }
  return "weft embed";
}

// Nothing for raw scores.
const checkpoint::TorchActivation* activation_of(const TaskModel& task, const RerankOptions& options) {
  require(task.model->head() == Head::kSequenceClassification && task.model->config().num_labels() == 1, task.name,
          ": reranking needs a sequence-classification head of one label");
  if (options.raw_scores) {
    return nullptr;
  }
  const std::string where = options.settings.where.empty() ? task.name : options.settings.where;
  return &checkpoint::score_activation(options.settings.activation, where);
}

LengthRule rule_of(const TaskModel& task, const RerankOptions& options) {
  LengthRule rule = options.windows ? windowed_texts(task, options.run, text::Truncation::kOnlySecond)
                                    : whole_texts(task, options.run);
  rule.hint = concat(option("truncate"), " cuts the longer of the two there, and says so; ", option("windows"),
                     " reads the whole text in windows, of which the best one counts");
  return rule;
}

// Where the text of a pair's window begins and ends.
Json place_of_text(const text::Encoding& window) {
  Json place = {{"start", 0}, {"end", 0}, {"byte_start", 0}, {"byte_end", 0}};
  bool first = true;
  for (std::size_t token = 0; token < window.ids.size(); ++token) {
    if (window.sequences[token] != 1) {
      continue;
    }
    if (std::exchange(first, false)) {
      place["start"] = window.offsets[token].begin;
      place["byte_start"] = window.byte_offsets[token].begin;
    }
    place["end"] = window.offsets[token].end;
    place["byte_end"] = window.byte_offsets[token].end;
  }
  return place;
}

// The best window of a pair so far.
struct BestWindow {
  std::optional<double> logit;
  std::size_t window = 0;

  void take(double other, std::size_t number) {
    if (!logit || other > *logit || (other == *logit && number < window)) {
      logit = other;
      window = number;
    }
  }
};

Json text_entry(const Scored& scored, std::span<const Document> texts, const RerankOptions& options) {
  Json entry = {{"index", scored.index}, {"score", scored.score}};
  if (options.return_text) {
    entry["text"] = texts[static_cast<std::size_t>(scored.index)].first;
  }
  return entry;
}

// Scores that are there, each with the place of its text, best first.
std::vector<Scored> ranked_scores(std::span<const TaskResult> scores, std::int64_t top_k) {
  std::vector<std::int64_t> places;
  std::vector<double> values;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!scores[i].result.is_null()) {
      places.push_back(static_cast<std::int64_t>(i));
      values.push_back(scores[i].result.get<double>());
    }
  }
  std::vector<Scored> ranked = best(values, top_k);
  for (Scored& scored : ranked) {
    scored.index = places[static_cast<std::size_t>(scored.index)];
  }
  return ranked;
}

// The members of `metadata` that `joined` does not have.
Json kept_members(const Json& metadata, const Json& joined) {
  Json kept = Json::object();
  for (const auto& [name, value] : metadata.items()) {
    if (!joined.contains(name) && name != kBestWindow) {
      kept[name] = value;
    }
  }
  return kept;
}

// Numbers that differ from text to text as lists; what is the same for all once.
Json joined_metadata(std::span<const TaskResult> scores) {
  Json joined = Json::object();
  for (const char* name : {"tokens", "windows", "truncated"}) {
    for (const TaskResult& score : scores) {
      joined[name].push_back(score.metadata.is_object() ? score.metadata.value(name, Json()) : Json());
    }
  }
  const bool windows = std::ranges::any_of(scores, [](const TaskResult& score) {
    return score.metadata.is_object() && score.metadata.contains(kBestWindow);
  });
  for (std::size_t i = 0; windows && i < scores.size(); ++i) {
    joined[kBestWindow].push_back(scores[i].metadata.is_object() ? scores[i].metadata.value(kBestWindow, Json())
                                                                 : Json());
  }
  for (const TaskResult& score : scores) {
    if (score.metadata.is_object()) {
      joined.update(kept_members(score.metadata, joined));
    }
  }
  return joined;
}

}  // namespace

void require_cross_encoder(const checkpoint::OpenedModel& directory) {
  directory.prefer(Head::kSequenceClassification);
  const models::EncoderConfig config = checkpoint::load_encoder_config(directory);
  const Head head = directory.head();
  const std::string name = quote(directory.root().native(), 4096);
  if (head != Head::kSequenceClassification) {
    const bool embedder = head == Head::kNone && checkpoint::is_sentence_directory(directory.root());
    throw Error(
        ErrorKind::kArgument,
        concat(name, ": reranking needs a cross-encoder, with a sequence-classification head of one label, but ",
               embedder              ? "this is an embedder (modules.json), which has no head"
               : head == Head::kNone ? "the model has no head"
                                     : concat("the model has the head ", models::to_string(head))),
        concat(command_for(head), " opens it; weft train --task rerank makes a cross-encoder of an encoder"));
  }
  if (config.num_labels() != 1) {
    throw Error(ErrorKind::kArgument,
                concat(name,
                       ": reranking needs a cross-encoder, with a sequence-classification head of one label, but "
                       "the model has ",
                       config.num_labels(), " labels: none of them is the score"),
                concat(command_for(head), " gives the labels of pairs of texts"));
  }
}

void check_rerank(const TaskModel& task, const RerankOptions& options) { activation_of(task, options); }

std::vector<TaskResult> score_pairs(TaskModel& task, std::span<const Document> pairs, const RerankOptions& options) {
  const checkpoint::TorchActivation* const activation = activation_of(task, options);
  for (const Document& pair : pairs) {
    require(pair.second.has_value(), pair.name, ": needs two texts, a query and a text, found one");
  }
  const std::vector<Document> prompted = with_prompt(pairs, options.settings.prompt);
  EncodedBatch encoded(task, prompted, rule_of(task, options));
  std::vector<BestWindow> best_windows(pairs.size());
  encoded.run(task, options.run.batch, false, [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    const std::span<const float> logits = numbers(output.logits);
    require_finite(logits);
    best_windows[place.document].take(static_cast<double>(logits.front()), place.window);
  });
  std::vector<TaskResult> results(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double logit = best_windows[i].logit.value();
    results[i].result = activation != nullptr ? activation->of_score(logit) : logit;
    results[i].metadata = encoded.metadata(i);
    results[i].metadata["activation"] = activation != nullptr ? activation->name : "none";
    if (encoded[i].windows.size() > 1) {
      results[i].metadata[kBestWindow] = place_of_text(encoded.encoding({i, best_windows[i].window}));
    }
  }
  return results;
}

TaskResult ranking(std::span<const TaskResult> scores, std::span<const Document> texts, const RerankOptions& options) {
  require(scores.size() == texts.size(), "a ranking needs a score for each text, found ", scores.size(), " for ",
          texts.size(), " texts");
  TaskResult result{Json::array(), joined_metadata(scores)};
  for (const Scored& scored : ranked_scores(scores, options.top_k)) {
    result.result.push_back(text_entry(scored, texts, options));
  }
  return result;
}

TaskResult rerank(TaskModel& task, const std::string& query, std::span<const Document> texts,
                  const RerankOptions& options) {
  require(!texts.empty(), "reranking needs at least one text");
  std::vector<Document> pairs;
  pairs.reserve(texts.size());
  for (const Document& text : texts) {
    pairs.push_back({query, text.first, text.name});
  }
  return ranking(score_pairs(task, pairs, options), texts, options);
}

}  // namespace weft::tasks
