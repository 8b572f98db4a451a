// SPDX-License-Identifier: Apache-2.0
// Greedy search and sampling: each row is a text that takes its own next token.
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/logsumexp.h>

#include <optional>

#include "weft/core/interrupt.h"
#include "weft/generation/search/draw.h"
#include "weft/generation/search/scores.h"

namespace weft::generation {
namespace {

/// A text that goes on.
struct Row {
  std::int64_t number;  ///< prompt * num_return_sequences + its number
  std::int64_t item;    ///< its prompt
  Ids tokens;           ///< prompt included
  double score = 0.0;
};

/// All rows of a search, those that ended and those that go on.
class Rows {
 public:
  explicit Rows(const SearchPlan& plan) : plan_(plan), results_(plan.request.prompts.size()) {
    const std::int64_t copies = plan.config.num_return_sequences;
    for (std::size_t item = 0; item < results_.size(); ++item) {
      results_[item].resize(static_cast<std::size_t>(copies));
      for (std::int64_t copy = 0; copy < copies; ++copy) {
        const auto its_item = static_cast<std::int64_t>(item);
        open_.push_back({its_item * copies + copy, its_item, plan.request.prompts[item]});
        parents_.push_back(its_item);  // prompts are read once each
      }
    }
  }

  bool all_ended() const { return open_.empty(); }
  void end_all(FinishReason reason) {
    for (Row& row : open_) {
      end(row, reason);
    }
    open_.clear();
  }

  /// One token more for each open row, from scores of which row parents_[i] is that of open row i.
  void take(const at::Tensor& scores, std::int64_t step, const std::vector<Processor>& processors);

  /// The newest tokens int64 [B, 1] of the rows that go on, whose state was row parents() of the step before.
  at::Tensor newest() const {
    Ids tokens;
    for (const Row& row : open_) {
      tokens.push_back(row.tokens.back());
    }
    return list_of(tokens).unsqueeze(1);
  }
  const Ids& parents() const noexcept { return parents_; }
  std::vector<std::vector<Sequence>> results() && { return std::move(results_); }

 private:
  void choose(Row& row, std::span<float> scores, std::int64_t step, const std::vector<Processor>& processors) const;
  std::optional<FinishReason> why_ended(const Row& row);
  // All that is there of a text that is its prompt's only one.
  void tell_settled(const Row& row) const {
    if (plan_.request.on_settled && plan_.config.num_return_sequences == 1) {
      plan_.request.on_settled(row.item, std::span(row.tokens).subspan(static_cast<std::size_t>(plan_.lengths.prompt)));
    }
  }
  void end(Row& row, FinishReason reason);

  const SearchPlan& plan_;
  std::vector<Row> open_;
  Ids parents_;
  bool callback_ended_ = false;
  std::vector<std::vector<Sequence>> results_;
};

void Rows::end(Row& row, FinishReason reason) {
  const std::int64_t copies = plan_.config.num_return_sequences;
  row.tokens.erase(row.tokens.begin(), row.tokens.begin() + static_cast<long>(plan_.lengths.prompt));
  results_[static_cast<std::size_t>(row.item)][static_cast<std::size_t>(row.number % copies)] = {std::move(row.tokens),
                                                                                                 row.score, reason};
}

void Rows::choose(Row& row, std::span<float> scores, std::int64_t step,
                  const std::vector<Processor>& processors) const {
  check_scores(plan_, scores);
  const RowScores view{scores, row.tokens, plan_.source(row.item), row.item, plan_.longest_of(row.item)};
  for (const Processor& process : processors) {
    process(view);
  }
  const std::int64_t copies = plan_.config.num_return_sequences;
  const DrawName name{plan_.config.seed, step, plan_.number(row.item) * copies + row.number % copies};
  const std::int64_t id = draws(plan_.config) ? draw(scores, name) : likeliest(scores);
  if (plan_.request.scores) {
    const at::Tensor all = at::from_blob(scores.data(), {std::ssize(scores)}, at::kFloat);
    row.score += scores[static_cast<std::size_t>(id)] - all.logsumexp(0).item<double>();
  }
  row.tokens.push_back(id);
}

std::optional<FinishReason> Rows::why_ended(const Row& row) {
  const std::int64_t id = row.tokens.back();
  if (plan_.request.on_token && !callback_ended_ && !plan_.request.on_token(row.number, id)) {
    callback_ended_ = true;
  }
  if (callback_ended_) {
    return FinishReason::kCallback;
  }
  if (plan_.is_end(id)) {
    return FinishReason::kStopToken;
  }
  if (plan_.request.stops &&
      plan_.request.stops(std::span(row.tokens).subspan(static_cast<std::size_t>(plan_.lengths.prompt)))) {
    return FinishReason::kStopString;
  }
  const bool full = std::ssize(row.tokens) >= plan_.longest_of(row.item);
  return full ? std::optional(FinishReason::kLength) : std::nullopt;
}

void Rows::take(const at::Tensor& scores, std::int64_t step, const std::vector<Processor>& processors) {
  // Rows that share the scores of one prompt must not write into the same memory.
  const bool shared = std::ssize(open_) != scores.size(0);
  const at::Tensor own = shared ? scores.index_select(0, list_of(parents_)) : scores;
  for_each_row(std::ssize(open_), own.size(1),
               [&](std::int64_t i) { choose(open_[static_cast<std::size_t>(i)], row_of(own, i), step, processors); });
  std::vector<Row> going;
  Ids parents;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (const auto reason = why_ended(open_[i])) {
      end(open_[i], *reason);
    } else {
      tell_settled(open_[i]);
      going.push_back(std::move(open_[i]));
      parents.push_back(shared ? parents_[i] : static_cast<std::int64_t>(i));
    }
  }
  open_ = std::move(going);
  parents_ = std::move(parents);
}

/// Whether row i goes on from row i, for all of `rows` rows.
bool changes_nothing(const Ids& parents, std::int64_t rows) {
  for (std::size_t i = 0; i < parents.size(); ++i) {
    if (parents[i] != static_cast<std::int64_t>(i)) {
      return false;
    }
  }
  return std::ssize(parents) == rows;
}

}  // namespace

std::vector<std::vector<Sequence>> search_rows(const SearchPlan& plan) {
  Rows rows(plan);
  layers::DecodingState state = plan.decoder.initial_state();
  at::Tensor tokens = table_of(plan.request.prompts);
  std::vector<Processor> processors;
  for (std::int64_t step = 0; plan.lengths.prompt + step < plan.lengths.maximum && !rows.all_ended(); ++step) {
    if (interrupted()) {
      rows.end_all(FinishReason::kInterrupted);
      break;
    }
    const at::Tensor scores = step_scores(plan, tokens, state);
    if (step == 0) {
      processors = make_processors(plan.config, plan.lengths, scores.size(1), plan.request.constraint);
    }
    rows.take(scores, step, processors);
    if (!rows.all_ended() && !changes_nothing(rows.parents(), tokens.size(0))) {
      plan.decoder.reorder(state, list_of(rows.parents()));
    }
    tokens = rows.all_ended() ? tokens : rows.newest();
  }
  rows.end_all(FinishReason::kLength);
  return std::move(rows).results();
}

}  // namespace weft::generation
