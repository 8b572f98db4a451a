// SPDX-License-Identifier: Apache-2.0
// Beam search and beam sampling for a batch of prompts: a row of the batch is a beam of one of them.
#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/ops/log_softmax.h>

#include "weft/core/interrupt.h"
#include "weft/generation/search/beam_item.h"

namespace weft::generation {
namespace {

/// The prompts that go on. Those that are done leave, and their rows with them.
class Beams {
 public:
  explicit Beams(const SearchPlan& plan)
      : plan_(plan), told_(plan.request.prompts.size()), results_(plan.request.prompts.size()) {
    for (std::int64_t item = 0; item < std::ssize(plan.request.prompts); ++item) {
      open_.emplace_back(plan, item);
    }
  }

  bool all_done() const { return open_.empty(); }
  std::vector<std::vector<Sequence>> results() && { return std::move(results_); }

  void end_all(FinishReason reason) {
    for (BeamItem& item : open_) {
      item.stop(reason);
    }
    remove_done({});
  }

  /// One token more for every prompt, the `made`-th new one from 0, from what the decoder gave [R, V].
  void take(const at::Tensor& scores, std::int64_t made, const std::vector<Processor>& processors) {
    Ids first;
    std::vector<RowScores> rows;
    for (const BeamItem& item : open_) {
      first.push_back(std::ssize(rows));
      for (const Beam& beam : item.beams()) {
        rows.push_back({row_of(scores, std::ssize(rows)), beam.tokens, plan_.source(item.number()), item.number(),
                        plan_.longest_of(item.number())});
      }
    }
    // Fewer prompts than threads: their rows are shared out, too.
    const bool apart = std::ssize(open_) < at::get_num_threads();
    const at::ThreadLocalState modes;
    const auto prepare = [&](std::int64_t row) {
      // A thread of the pool begins with modes of its own: it could not write to what was made in inference mode.
      const at::ThreadLocalStateGuard as_the_caller(modes);
      prepare_row(scores, row, rows[static_cast<std::size_t>(row)], processors);
    };
    if (apart) {
      for_each_row(std::ssize(rows), scores.size(1), prepare);
    }
    for_each_row(std::ssize(open_), plan_.config.num_beams * scores.size(1), [&](std::int64_t i) {
      const auto index = static_cast<std::size_t>(i);
      const std::int64_t end = first[index] + std::ssize(open_[index].beams());
      for (std::int64_t row = first[index]; row < end && !apart; ++row) {
        prepare(row);
      }
      open_[index].step(scores, first[index], made);
    });
    remove_done(first);
  }

  /// Hands on what is settled of the prompts that go on.
  void tell_settled() {
    for (const BeamItem& item : open_) {
      const std::span<const std::int64_t> settled = item.settled();
      std::size_t& told = told_[static_cast<std::size_t>(item.number())];
      if (settled.size() > told) {
        told = settled.size();
        plan_.request.on_settled(item.number(), settled);
      }
    }
  }

  /// The newest tokens int64 [B, 1] of the beams that go on, and which row each was.
  at::Tensor newest() const {
    Ids tokens;
    for (const BeamItem& item : open_) {
      for (const Beam& beam : item.beams()) {
        tokens.push_back(beam.tokens.back());
      }
    }
    return list_of(tokens).unsqueeze(1);
  }
  at::Tensor parents() const { return list_of(parents_); }

 private:
  /// What the decoder gave for row `row` becomes logarithms of probabilities, behind the processors.
  void prepare_row(const at::Tensor& scores, std::int64_t row, const RowScores& view,
                   const std::vector<Processor>& processors) const {
    check_scores(plan_, view.scores);
    if (!plan_.decoder.gives_logarithms()) {
      // In place: a second table of this size would be given back to the system and asked for again at every token.
      at::Tensor its_scores = scores.narrow(0, row, 1);
      at::log_softmax_out(its_scores, its_scores, 1);
    }
    for (const Processor& processor : processors) {
      processor(view);
    }
  }

  void remove_done(const Ids& first) {
    std::vector<BeamItem> going;
    parents_.clear();
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].done()) {
        results_[static_cast<std::size_t>(open_[i].number())] = open_[i].results();
        continue;
      }
      for (const Beam& beam : open_[i].beams()) {
        parents_.push_back(first[i] + beam.parent);
      }
      going.push_back(std::move(open_[i]));
    }
    open_ = std::move(going);
  }

  const SearchPlan& plan_;
  std::vector<BeamItem> open_;
  Ids parents_;
  std::vector<std::size_t> told_;  // settled tokens of each prompt
  std::vector<std::vector<Sequence>> results_;
};

}  // namespace

std::vector<std::vector<Sequence>> search_beams(const SearchPlan& plan) {
  Beams beams(plan);
  layers::DecodingState state = plan.decoder.initial_state();
  at::Tensor tokens = table_of(plan.request.prompts);
  std::vector<Processor> processors;
  for (std::int64_t made = 0; plan.lengths.prompt + made < plan.lengths.maximum && !beams.all_done(); ++made) {
    if (interrupted()) {
      beams.end_all(FinishReason::kInterrupted);
      break;
    }
    const at::Tensor scores = step_scores(plan, tokens, state);
    if (made == 0) {
      processors = make_processors(plan.config, plan.lengths, scores.size(1), plan.request.constraint);
    }
    beams.take(scores, made, processors);
    if (plan.request.on_settled) {
      beams.tell_settled();
    }
    if (!beams.all_done()) {
      plan.decoder.reorder(state, beams.parents());
      tokens = beams.newest();
    }
  }
  beams.end_all(FinishReason::kLength);
  return std::move(beams).results();
}

}  // namespace weft::generation
