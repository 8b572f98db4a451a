// SPDX-License-Identifier: Apache-2.0
// Labels are kept as numbers from 0 to 1: a positive is 1, a negative 0.
#include "weft/fine_tuning/retrieval/rerank_objective.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "weft/checkpoint/sentence/torch_activation.h"
#include "weft/checkpoint/sentence/write_cross_encoder.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/retrieval/losses.h"
#include "weft/fine_tuning/review.h"
#include "weft/metrics/correlation.h"
#include "weft/metrics/ranking.h"
#include "weft/metrics/sums.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

// log(1 + exp(x)) without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double binary_cross_entropy(double logit, double label) { return softplus(logit) - label * logit; }

}  // namespace

RerankObjective::RerankObjective(Setup given) : Objective(std::move(given), models::Head::kSequenceClassification) {
  require(setup().task.class_weights.empty(), "class_weights are for tasks with labels by name; rerank has none");
  sentence_ = checkpoint::read_sentence_directory(setup().directory);
  if (sentence_ && !sentence_->is_cross_encoder()) {
    sentence_.reset();  // an embedder, of which the transformer is taken
  }
  softmax_ = setup().retrieval.loss == "softmax";
  settled_ = setup().retrieval.loss != "auto";
}

void RerankObjective::add(Split split, const TextGroup& group, ReadSummary& summary) {
  const double score = group.score ? scaled_score(group, setup().data, 0.0) : 1.0;
  std::vector<tasks::Document> pairs;
  std::vector<double> values;
  for (const std::string& text : group.positives) {
    pairs.push_back({setup().cross.prompt + group.query, text, group.place});
    values.push_back(score);
  }
  for (const std::string& text : group.negatives) {
    pairs.push_back({setup().cross.prompt + group.query, text, group.place});
    values.push_back(0.0);
  }
  add_rows(split, pairs, summary);  // all of the record or nothing
  Labels& labels = labels_[split];
  const auto [found, is_new] = labels.numbers.emplace(group.query, std::ssize(labels.texts));
  if (is_new) {
    labels.texts.push_back(group.query);
  }
  labels.values.insert(labels.values.end(), values.begin(), values.end());
  labels.queries.insert(labels.queries.end(), values.size(), found->second);
  labels.scored = labels.scored || group.score.has_value();
  if (split == Split::kTraining) {
    ends_.push_back(std::ssize(labels.values));
  }
}

ReadSummary RerankObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  summary.records = read_text_groups(paths, setup().data, [&](const TextGroup& group) {
    if (split == Split::kTraining && !settled_) {
      softmax_ = !group.score;
      settled_ = true;
    }
    take(split, [&] {
      add(split, group, summary);
      for (const std::vector<std::string>* texts : {&group.positives, &group.negatives}) {
        for (const std::string& text : *texts) {  // a line of predictions for each row
          keep_origin(split, [&] {
            Json origin = group.origin;
            origin["text"] = group.query;
            origin["text_pair"] = text;
            return origin;
          });
        }
      }
    });
  });
  return summary;
}

// Rows of a query that follow each other are one example.
void RerankObjective::make_lists() {
  const Labels& all = labels(Split::kTraining);
  begins_ = {0};
  for (const std::int64_t end : ends_) {
    const auto query = [&](std::int64_t row) { return all.queries[static_cast<std::size_t>(row)]; };
    if (end < std::ssize(all.values) && query(end) == query(end - 1)) {
      continue;
    }
    const auto first = all.values.begin() + begins_.back();
    const auto last = all.values.begin() + end;
    const std::string& text = all.texts[static_cast<std::size_t>(query(end - 1))];
    if (last - first < 2 || *std::max_element(first, last) <= 0.0) {
      throw Error(
          ErrorKind::kFormat,
          concat(labels_place(), ": the loss softmax needs for each query a text that answers it and another ",
                 "one, in one record or in records that follow each other, found ", last - first,
                 last - first == 1 ? " text" : " texts", " and no such two for ", quote(shortened(text, 60))),
          concat("add a negative to it, or give ", option("loss"), " binary, for which any record may have none"));
    }
    begins_.push_back(end);
  }
}

void RerankObjective::check_labels() const {
  const std::vector<double>& values = labels(Split::kTraining).values;
  if (values.empty()) {
    return;
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*least == *most) {
    fail(ErrorKind::kFormat, labels_place(), ": a reranker learns from texts that answer a query and texts that do ",
         "not, but all ", values.size(), " pairs have the label ", *least, "; add negatives");
  }
}

HeadChoice RerankObjective::choose_head() {
  const bool has_head = setup().config.head() == head();
  require(!has_head || setup().config.num_labels() == 1, setup().model.name,
          ": config.json: rerank needs a head of one number, but this one has ", setup().config.num_labels(),
          " labels; begin with a cross-encoder, or with an encoder that has no such head");
  check_labels();
  if (softmax_) {
    make_lists();
  }
  return {has_head ? setup().config.id2label : std::vector<std::string>{"LABEL_0"}, {}, !has_head};
}

std::vector<std::pair<std::string, std::string>> RerankObjective::remarks() const {
  const std::string divided =
      setup().data.score_max == 1.0 ? "" : concat(", scores divided by ", setup().data.score_max);
  return {{"loss", softmax_ ? concat("softmax over the texts of a query, ", examples(Split::kTraining), " queries")
                            : concat("binary cross entropy of pairs", divided)}};
}

void RerankObjective::save(const std::filesystem::path& directory) const {
  checkpoint::write_cross_encoder(directory, setup().cross);
  if (sentence_) {
    checkpoint::SentenceDirectory written = *sentence_;
    written.max_seq_length = setup().model.maximum;
    checkpoint::write_sentence_directory(directory, written);
  }
}

Objective::RowRange RerankObjective::row_range(Split split, std::int64_t example) const {
  if (split == Split::kHeldOut || !softmax_) {
    return {example, example + 1};
  }
  const auto number = static_cast<std::size_t>(example);
  return {begins_.at(number), begins_.at(number + 1)};
}

std::int64_t RerankObjective::examples(Split split) const {
  return split == Split::kHeldOut || !softmax_ ? rows(split).size()
                                               : std::max<std::int64_t>(std::ssize(begins_) - 1, 0);
}

at::Tensor RerankObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  const std::vector<double>& all = labels(Split::kTraining).values;
  std::vector<double> wanted;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t example : batch.examples) {
    const RowRange range = row_range(Split::kTraining, example);
    wanted.insert(wanted.end(), all.begin() + range.begin, all.begin() + range.end);
    sizes.push_back(range.end - range.begin);
  }
  const at::Tensor logits = output.logits.flatten();
  const at::Tensor labels = at::tensor(wanted, at::kDouble);
  return softmax_ ? list_loss(logits, labels, sizes) : binary_loss(logits, labels);
}

double RerankObjective::score(double logit) const {
  return checkpoint::score_activation(setup().cross.activation, setup().model.name).of_score(logit);
}

std::vector<std::vector<std::size_t>> RerankObjective::rows_by_query() const {
  const Labels& held = labels(Split::kHeldOut);
  std::vector<std::vector<std::size_t>> rows(held.texts.size());
  for (std::size_t row = 0; row < held.queries.size(); ++row) {
    rows[static_cast<std::size_t>(held.queries[row])].push_back(row);
  }
  return rows;
}

std::vector<double> RerankObjective::losses(Kept kept) const {
  const Labels& held = labels(Split::kHeldOut);
  std::vector<double> losses;
  losses.reserve(kept.size());
  for (std::size_t row = 0; row < kept.size(); ++row) {
    losses.push_back(binary_cross_entropy(kept[row], held.values[row]));
  }
  return losses;
}

Json RerankObjective::ranking_figures(Kept kept) const {
  constexpr std::size_t kJudgedRanks = 10;  // few queries come with a hundred texts
  const Labels& held = labels(Split::kHeldOut);
  metrics::RankingAverage average(metrics::Unanswered::kLeftOut);
  for (const std::vector<std::size_t>& rows : rows_by_query()) {
    std::vector<std::string> ids;
    std::vector<metrics::RankedText> texts;
    ids.reserve(rows.size());
    texts.reserve(rows.size());
    for (const std::size_t row : rows) {
      ids.push_back(concat(1000000000000ULL + row));  // as long as each other: bytes compare as numbers
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      texts.push_back({kept[rows[i]], held.values[rows[i]], ids[i]});
    }
    average.add(metrics::ranked_relevance(std::move(texts)));
  }
  const std::optional<metrics::RankingFigures> found = average.figures();
  Json figures = Json::object();
  for (const metrics::RankingFigure& figure : metrics::kRankingFigures) {
    if (figure.depth <= kJudgedRanks) {
      figures[figure.name] = found ? Json((*found).*figure.value) : Json(nullptr);
    }
  }
  return figures;
}

Json RerankObjective::figures(Kept kept) const {
  const Labels& held = labels(Split::kHeldOut);
  Json figures = Json::object();
  if (held.scored) {
    std::vector<double> scores;
    scores.reserve(kept.size());
    for (const double logit : kept) {
      scores.push_back(score(logit));
    }
    figures["pearson"] = formats::or_null(metrics::pearson(held.values, scores));
    figures["spearman"] = formats::or_null(metrics::spearman(held.values, scores));
  }
  if (held.texts.size() < held.values.size()) {
    figures.update(ranking_figures(kept));
  }
  figures["loss"] = metrics::mean(losses(kept));
  return figures;
}

Findings RerankObjective::findings(Kept kept) const {
  Findings found;
  if (const auto one = one_number(kept, labels(Split::kHeldOut).values)) {
    found.doubt = concat("the model gives the score ", score(one->given), " for each of the ", kept.size(),
                         " held-out pairs, whose labels go from ", one->low, " to ", one->high, kMore);
  }
  return found;
}

Json RerankObjective::errors(Kept kept) const {
  const Labels& held = labels(Split::kHeldOut);
  Json errors = Json::array();
  for (const std::size_t row : largest(losses(kept), kMostErrors)) {
    errors.push_back({{"text", row_text(Split::kHeldOut, static_cast<std::int64_t>(row))},
                      {"truth", held.values[row]},
                      {"predicted", score(kept[row])}});
  }
  return errors;
}

void RerankObjective::predictions(Kept kept, const WriteLine& write) const {
  for (std::size_t row = 0; row < kept.size(); ++row) {
    write({{"score", score(kept[row])}, {"truth", labels(Split::kHeldOut).values[row]}});
  }
}

std::uint64_t RerankObjective::fingerprint() const {
  std::uint64_t print = softmax_ ? 1 : 0;
  for (const double value : labels(Split::kTraining).values) {
    print = random_bits(print, std::bit_cast<std::uint64_t>(value));
  }
  for (const std::int64_t begin : begins_) {
    print = random_bits(print, static_cast<std::uint64_t>(begin));
  }
  return print;
}

}  // namespace weft::fine_tuning
