// SPDX-License-Identifier: Apache-2.0
// The rules of beam search of `transformers`, for one prompt.
#include "weft/generation/search/beam_item.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/generation/search/draw.h"

namespace weft::generation {

BeamItem::BeamItem(const SearchPlan& plan, std::int64_t number)
    : plan_(plan),
      number_(number),
      width_(static_cast<std::size_t>(plan.config.num_beams)),
      candidates_(std::max<std::size_t>(2, 1 + plan.config.eos_token_id.size()) * width_),
      // One beam at first: equal ones would all go on with the same tokens.
      beams_{{.tokens = plan.request.prompts[static_cast<std::size_t>(number)]}} {}

// By falling score, then by beam and id. A list of K sorted candidates, whose last score most of the vocabulary fails
// to pass: one comparison a token.
std::vector<BeamItem::Candidate> BeamItem::best_candidates(const at::Tensor& scores, std::int64_t first) const {
  std::vector<Candidate> best;
  best.reserve(candidates_ + 1);
  float bound = kImpossible;
  for (std::size_t beam = 0; beam < beams_.size(); ++beam) {
    const std::span<const float> row = row_of(scores, first + static_cast<std::int64_t>(beam));
    for (std::size_t id = 0; id < row.size(); ++id) {
      id = id % kPartOfRow == 0 ? first_part_above(row, id, beams_[beam].score, bound) : id;
      if (id == row.size()) {
        break;
      }
      const float score = row[id] + beams_[beam].score;
      if (score <= bound) {  // false for NaN
        continue;
      }
      if (!(score < std::numeric_limits<float>::infinity())) {
        fail(ErrorKind::kNumeric, "the score of token ", id, " is ", score, ": settings or weights overflow");
      }
      const auto place = std::upper_bound(best.begin(), best.end(), score,
                                          [](float value, const Candidate& other) { return value > other.score; });
      best.insert(place, {score, beam, static_cast<std::int64_t>(id)});
      best.resize(std::min(best.size(), candidates_));
      bound = best.size() == candidates_ ? best.back().score : bound;
    }
  }
  return best;
}

std::vector<BeamItem::Candidate> BeamItem::drawn_candidates(const at::Tensor& scores, std::int64_t first,
                                                            std::int64_t made) const {
  const std::int64_t vocabulary = scores.size(1);
  std::vector<float> sums;
  sums.reserve(beams_.size() * static_cast<std::size_t>(vocabulary));
  for (std::size_t beam = 0; beam < beams_.size(); ++beam) {
    for (const float score : row_of(scores, first + static_cast<std::int64_t>(beam))) {
      sums.push_back(score + beams_[beam].score);
    }
  }
  std::vector<Candidate> drawn;
  for (const std::int64_t index :
       draw_several(sums, static_cast<std::int64_t>(candidates_), {plan_.config.seed, made, plan_.number(number_)})) {
    drawn.push_back(
        {sums[static_cast<std::size_t>(index)], static_cast<std::size_t>(index / vocabulary), index % vocabulary});
  }
  return drawn;
}

bool BeamItem::ends(const Ids& tokens, FinishReason& reason) const {
  const auto prompt = static_cast<std::size_t>(plan_.lengths.prompt);
  if (plan_.is_end(tokens.back())) {
    reason = FinishReason::kStopToken;
  } else if (plan_.request.stops && plan_.request.stops(std::span(tokens).subspan(prompt))) {
    reason = FinishReason::kStopString;
  } else if (std::ssize(tokens) >= plan_.longest_of(number_)) {
    reason = FinishReason::kLength;
  } else {
    return false;
  }
  return true;
}

double BeamItem::divisor(std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  // Wu et al. 2016, equation 14
  const double base = plan_.config.length_penalty_form == "gnmt" ? (5.0 + tokens) / 6.0 : tokens;
  return std::pow(base, plan_.config.length_penalty);
}

void BeamItem::finish(Sequence text, std::int64_t length) {
  text.score = static_cast<float>(text.score) / static_cast<float>(divisor(length));
  text.ids.erase(text.ids.begin(), text.ids.begin() + static_cast<long>(plan_.lengths.prompt));
  const auto place = std::upper_bound(finished_.begin(), finished_.end(), text.score,
                                      [](double score, const Sequence& other) { return score > other.score; });
  finished_.insert(place, std::move(text));
  finished_.resize(std::min(finished_.size(), width_));
}

void BeamItem::step(const at::Tensor& scores, std::int64_t first, std::int64_t made) {
  const std::vector<Candidate> chosen =
      draws(plan_.config) ? drawn_candidates(scores, first, made) : best_candidates(scores, first);
  std::vector<Beam> going;
  for (std::size_t rank = 0; rank < chosen.size(); ++rank) {
    const Candidate& candidate = chosen[rank];
    Ids tokens = beams_[candidate.beam].tokens;
    tokens.push_back(candidate.id);
    FinishReason reason{};
    if (!ends(tokens, reason)) {
      going.push_back({std::move(tokens), candidate.score, static_cast<std::int64_t>(candidate.beam)});
    } else if (rank < width_) {
      finish({std::move(tokens), candidate.score, reason}, made + 1);
    }
  }
  std::stable_sort(going.begin(), going.end(), [](const Beam& a, const Beam& b) { return a.score > b.score; });
  going.resize(std::min(going.size(), width_));
  beams_ = std::move(going);
  decide(made + 1);
}

void BeamItem::decide(std::int64_t made) {
  const GenerationConfig& config = plan_.config;
  const bool full = finished_.size() == width_;
  if (beams_.empty() || (full && config.early_stopping == "true")) {
    done_ = true;
  } else if (full) {
    // With a positive penalty the score of a long text falls less: the longest one is the most hopeful.
    const bool hopes = config.early_stopping == "never" && config.length_penalty > 0.0;
    const std::int64_t length = hopes ? plan_.longest_of(number_) - plan_.lengths.prompt : made;
    done_ = beams_.front().score / static_cast<float>(divisor(length)) <= finished_.back().score;
  }
}

void BeamItem::stop(FinishReason reason) {
  for (Beam& beam : beams_) {
    const std::int64_t made = std::ssize(beam.tokens) - plan_.lengths.prompt;
    finish({std::move(beam.tokens), beam.score, reason}, std::max<std::int64_t>(made, 1));
  }
  beams_.clear();
  done_ = true;
}

std::span<const std::int64_t> BeamItem::settled() const {
  const auto prompt = static_cast<std::size_t>(plan_.lengths.prompt);
  std::span<const std::int64_t> common = std::span(beams_.front().tokens).subspan(prompt);
  const auto keep_common = [&](std::span<const std::int64_t> other) {
    const auto differs = std::mismatch(common.begin(), common.end(), other.begin(), other.end()).first;
    common = common.first(static_cast<std::size_t>(differs - common.begin()));
  };
  for (const Beam& beam : beams_) {
    keep_common(std::span(beam.tokens).subspan(prompt));
  }
  for (const Sequence& text : finished_) {
    keep_common(text.ids);
  }
  return common;
}

std::vector<Sequence> BeamItem::results() const {
  const auto count = std::min(finished_.size(), static_cast<std::size_t>(plan_.config.num_return_sequences));
  return {finished_.begin(), finished_.begin() + static_cast<long>(count)};
}

}  // namespace weft::generation
