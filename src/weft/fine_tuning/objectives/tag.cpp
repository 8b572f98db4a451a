// SPDX-License-Identifier: Apache-2.0
// Words to tokens and back.
#include "weft/fine_tuning/objectives/tag.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/fine_tuning/review.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/metrics/entities.h"
#include "weft/metrics/sums.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/decode/tagged_tokens.h"
#include "weft/tasks/task_run.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

constexpr const char* kOutside = "O";

// Words with single blanks between them, and where each ends, in bytes.
std::pair<std::string, std::vector<std::int64_t>> joined_words(const std::vector<std::string>& words) {
  std::string text;
  std::vector<std::int64_t> ends;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
    ends.push_back(static_cast<std::int64_t>(text.size()));
  }
  return {text, ends};
}

// Text tokens of a window in their order, without special ones.
std::vector<std::size_t> text_tokens(const text::Encoding& window) {
  std::vector<std::size_t> tokens;
  for (std::size_t token = 0; token < window.ids.size(); ++token) {
    if (window.special_mask[token] == 0) {
      tokens.push_back(token);
    }
  }
  return tokens;
}

// The word that a token ends in: some vocabularies count the blank before a word to its first token.
std::int64_t word_of(const text::Span& bytes, const std::vector<std::int64_t>& ends) {
  const std::int64_t last = std::max(bytes.begin, bytes.end - 1);
  return std::upper_bound(ends.begin(), ends.end(), last) - ends.begin();
}

Json entity_scores(const metrics::Scores& scores) {
  return {{"precision", scores.precision}, {"recall", scores.recall}, {"f1", scores.f1}};
}

}  // namespace

/// Predicted tags of each held-out sentence, and their summed nats.
struct TagObjective::Scored {
  std::vector<std::vector<std::string>> tags;
  metrics::EntityScorer scorer;
  double loss = 0.0;
};

void TagObjective::add_sentence(Split split, const readers::TaggedSentence& sentence, const std::string& place,
                                ReadSummary& summary) {
  const auto [text, ends] = joined_words(sentence.words);
  const tasks::LengthRule rule = window_rule(text::Truncation::kOnlyFirst);
  const tasks::EncodedDocument encoded = tasks::encode_document(*setup().model.tokenizer, {text, {}, place}, rule);
  summary.note_cut(encoded.left_out);
  std::int64_t last_word = -1;  // each word's first token alone is labelled
  for (std::size_t number = 0; number < encoded.windows.size(); ++number) {
    const text::Encoding& window = encoded.windows[number];
    const std::vector<std::size_t> tokens = text_tokens(window);
    const auto [begin, end] =
        tasks::own_tokens(tokens.size(), number, encoded.windows.size(), static_cast<std::size_t>(rule.stride));
    Row row;
    row.sentence = sentences_.size();
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t word = word_of(window.byte_offsets[tokens[i]], ends);
      if (word > last_word && word < static_cast<std::int64_t>(ends.size())) {
        const std::string& tag = sentence.tags[static_cast<std::size_t>(word)];
        // A tag that was never trained is one that cannot be predicted.
        const std::int64_t label = split == Split::kHeldOut ? labels_.find(tag) : labels_.number(tag, place);
        row.words.push_back({static_cast<std::int32_t>(tokens[i]), static_cast<std::int32_t>(word), label});
        last_word = word;
      }
    }
    if (!row.words.empty()) {
      words_[split].push_back(std::move(row));
      add_window(split, window);
    }
  }
}

ReadSummary TagObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  const auto open = [](const std::filesystem::path& path, const std::string& /*format*/,
                       const readers::ReadOptions& options) {
    return std::make_unique<readers::ConllReader>(path, readers::ConllOptions{}, options);
  };
  const auto visit = [&](const readers::TaggedSentence& sentence, const std::filesystem::path& file) {
    take(split, [&] {
      add_sentence(split, sentence, concat(quote(file.native(), 4096), " line ", sentence.line), summary);
      keep_origin(split, [&] { return Json{{"file", file.string()}, {"line", sentence.line}}; });
      if (split == Split::kHeldOut) {
        sentences_.push_back({sentence.words, sentence.tags});
      }
    });
  };
  read_each(paths, setup().data, "conll", open, visit, summary.records);
  return summary;
}

HeadChoice TagObjective::choose_head() {
  HeadChoice choice = labels_.choose_head(setup().config, head());
  if (choice.labels.empty()) {
    fail(ErrorKind::kFormat, labels_place(), ": there is no tag");
  }
  const std::vector<std::int64_t> ids = labels_.fix_order(choice.labels);
  std::vector<std::int64_t> counts(choice.labels.size(), 0);
  std::int64_t all = 0;
  for (Row& row : words_[Split::kTraining]) {
    for (Word& word : row.words) {
      word.label = ids[static_cast<std::size_t>(word.label)];
      ++counts[static_cast<std::size_t>(word.label)];
      ++all;
    }
  }
  if (all > 0) {
    weights_ = label_weights(setup().task.class_weights, counts, all, false);
  }
  return choice;
}

at::Tensor TagObjective::labels_of(const TrainingBatch& batch) const {
  at::Tensor labels = at::full(batch.input.input_ids.sizes(), layers::kIgnoredLabel, at::kLong);
  for (std::size_t i = 0; i < batch.examples.size(); ++i) {
    auto* of_row = labels.data_ptr<std::int64_t>() + static_cast<std::int64_t>(i) * labels.size(1);
    for (const Word& word : words_[Split::kTraining][static_cast<std::size_t>(batch.examples[i])].words) {
      of_row[batch.first(i, word.token)] = word.label;
    }
  }
  return labels;
}

at::Tensor TagObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  return label_loss(output.logits, labels_of(batch), {weights_, setup().label_smoothing});
}

std::vector<at::Tensor> TagObjective::choices(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  const at::Tensor words = labels_of(batch).flatten().ne(layers::kIgnoredLabel).nonzero().squeeze(1);
  return {output.logits.flatten(0, -2).index_select(0, words)};
}

// The predicted label and its nats for each word.
std::int64_t TagObjective::numbers(std::int64_t example) const {
  return 2 * static_cast<std::int64_t>(words_[Split::kHeldOut][static_cast<std::size_t>(example)].words.size());
}

void TagObjective::keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> kept) const {
  const std::span<const float> logits = tasks::numbers(output.logits);
  const std::size_t width = labels_.names().size();
  std::size_t at = 0;
  for (const Word& word : words_[Split::kHeldOut][static_cast<std::size_t>(example)].words) {
    const auto scores = logits.subspan(static_cast<std::size_t>(word.token) * width, width);
    const std::vector<double> probabilities = tasks::softmax(scores);
    kept[at++] = static_cast<double>(tasks::best(probabilities, 1).front().index);
    kept[at++] =
        word.label < 0 ? -1.0 : -std::log(std::max(probabilities[static_cast<std::size_t>(word.label)], 1e-300));
  }
}

TagObjective::Scored TagObjective::score(Kept kept) const {
  Scored scored;
  for (const Sentence& sentence : sentences_) {
    // A word without a token (a control character, say) is outside.
    scored.tags.emplace_back(sentence.words.size(), kOutside);
  }
  std::vector<double> nats;
  std::size_t at = 0;
  for (const Row& row : words_[Split::kHeldOut]) {
    for (const Word& word : row.words) {
      scored.tags[row.sentence][static_cast<std::size_t>(word.number)] =
          labels_.names()[static_cast<std::size_t>(kept[at])];
      if (word.label >= 0) {
        nats.push_back(kept[at + 1]);
      }
      at += 2;
    }
  }
  for (std::size_t i = 0; i < sentences_.size(); ++i) {
    scored.scorer.add(sentences_[i].tags, scored.tags[i]);
  }
  scored.loss = metrics::mean(nats);
  return scored;
}

Json TagObjective::figures(Kept kept) const {
  const Scored scored = score(kept);
  const metrics::EntityReport report = scored.scorer.report();
  Json figures = entity_scores(report.micro);
  figures.update({{"f1_macro", report.macro.f1},
                  {"f1_weighted", report.weighted.f1},
                  {"accuracy", report.accuracy},
                  {"loss", scored.loss}});
  return figures;
}

Findings TagObjective::findings(Kept kept) const {
  const Scored scored = score(kept);
  Json types = Json::array();
  for (const metrics::EntityScores& type : scored.scorer.report().types) {
    Json one = {{"type", type.type}};
    one.update(entity_scores(type.scores));
    one["support"] = type.support;
    types.push_back(std::move(one));
  }
  Findings found;
  found.details["types"] = std::move(types);
  found.doubt = doubt(scored);
  return found;
}

Json TagObjective::errors(Kept kept) const {
  const Scored scored = score(kept);
  Json errors = Json::array();
  for (std::size_t i = 0; i < sentences_.size() && errors.size() < kMostErrors; ++i) {
    if (scored.tags[i] == sentences_[i].tags) {
      continue;
    }
    std::string text;
    std::string truth;
    std::string predicted;
    for (std::size_t word = 0; word < sentences_[i].words.size(); ++word) {
      text += (text.empty() ? "" : " ") + sentences_[i].words[word];
      if (sentences_[i].tags[word] != scored.tags[i][word]) {
        const std::string blank = truth.empty() ? "" : ", ";
        truth += blank + sentences_[i].words[word] + " " + sentences_[i].tags[word];
        predicted += blank + sentences_[i].words[word] + " " + scored.tags[i][word];
      }
    }
    errors.push_back({{"text", shortened(text)}, {"truth", shortened(truth)}, {"predicted", shortened(predicted)}});
  }
  return errors;
}

void TagObjective::predictions(Kept kept, const WriteLine& write) const {
  const Scored scored = score(kept);
  for (std::size_t i = 0; i < sentences_.size(); ++i) {
    write({{"words", sentences_[i].words}, {"tags", scored.tags[i]}, {"truth", sentences_[i].tags}});
  }
}

std::string TagObjective::doubt(const Scored& scored) const {
  std::int64_t wanted = 0;
  std::set<std::string, std::less<>> truth;
  std::set<std::string, std::less<>> said;
  for (std::size_t i = 0; i < sentences_.size(); ++i) {
    wanted += std::ssize(metrics::find_entities(sentences_[i].tags));
    truth.insert(sentences_[i].tags.begin(), sentences_[i].tags.end());
    said.insert(scored.tags[i].begin(), scored.tags[i].end());
    if (!metrics::find_entities(scored.tags[i]).empty() && said.size() > 1) {
      return {};
    }
  }
  if (said.size() == 1 && *said.begin() != kOutside && truth.size() > 1) {
    return concat("the model predicts ", quote(*said.begin()), " for each word of the ", sentences_.size(),
                  " held-out sentences, which have ", truth.size(), " tags", kMore);
  }
  return wanted > 0 && (said.empty() || said.size() > 1 || *said.begin() == kOutside)
             ? concat("the model predicts no entity at all in ", sentences_.size(), " held-out sentences, which have ",
                      wanted, kMore)
             : std::string();
}

std::uint64_t TagObjective::fingerprint() const {
  std::uint64_t print = 0;
  for (const Row& row : words_[Split::kTraining]) {
    for (const Word& word : row.words) {
      print = random_bits(print, static_cast<std::uint64_t>(word.token), static_cast<std::uint64_t>(word.label));
    }
  }
  return print;
}

}  // namespace weft::fine_tuning
