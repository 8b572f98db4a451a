// SPDX-License-Identifier: Apache-2.0
// Two models of one vocabulary name each id alike.
#include "weft/tasks/sequences/joint_models.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"

namespace weft::tasks {
namespace {

// Empty for an id that no token has.
std::string token_or_none(const text::PairTokenizer& tokenizer, std::int64_t id, text::Side side) {
  try {
    return tokenizer.token(id, side);
  } catch (const Error&) {
    return {};
  }
}

void check_side(const SequenceModel& first, const SequenceModel& second, text::Side side) {
  const std::int64_t size = first.tokenizer->side(side).vocabulary_size();
  const std::int64_t other = second.tokenizer->side(side).vocabulary_size();
  require(size == other, first.name, " and ", second.name, " must have one vocabulary to write together, found ", size,
          " and ", other, " tokens");
  for (std::int64_t id = 0; id < size; ++id) {
    const std::string here = token_or_none(*first.tokenizer, id, side);
    const std::string there = token_or_none(*second.tokenizer, id, side);
    require(here == there, first.name, " and ", second.name, " must have one vocabulary to write together, but token ",
            id, " is ", Quoted(here), " and ", Quoted(there));
  }
}

void check_alike(const SequenceModel& first, const SequenceModel& second) {
  check_side(first, second, text::Side::kSource);
  check_side(first, second, text::Side::kTarget);
  const text::Frame& frame = first.tokenizer->frame();
  const text::Frame& other = second.tokenizer->frame();
  require(frame.before == other.before && frame.behind == other.behind, first.name, " and ", second.name,
          " put different special tokens around a text");
  require(first.right_to_left == second.right_to_left, first.name, " and ", second.name,
          " cannot write together: one of them writes from right to left");
  const WritingModel writes = writing_model(*first.writer);
  const WritingModel also = writing_model(*second.writer);
  require(writes.start == also.start, first.name, " and ", second.name, " begin a text with tokens ", writes.start,
          " and ", also.start);
  const auto rows = [](const WritingModel& writer) { return writer.model->config().target_vocab_size(); };
  require(rows(writes) == rows(also), first.name, " and ", second.name, " score ", rows(writes), " and ", rows(also),
          " tokens");
}

}  // namespace

void join_models(SequenceModel& model, std::span<const SequenceModel> others, std::vector<double> weights,
                 generation::JointMean mean) {
  JointModels joint{.others = {}, .weights = std::move(weights), .mean = mean};
  for (const SequenceModel& other : others) {
    check_alike(model, other);
    joint.others.push_back(writing_model(*other.writer).model);
    model.longest = std::min(model.longest, other.longest);
  }
  write_jointly(model, std::move(joint));
}

std::vector<double> weights_of(std::span<const std::string> texts) {
  std::vector<double> weights;
  for (const std::string& text : texts) {
    double weight = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (!is_number || !std::isfinite(weight) || weight < 0) {
      throw UsageError(
          concat(option("model_weights"), ": a weight is a number from 0 on such as 0.5, found ", quote(text)));
    }
    weights.push_back(weight);
  }
  if (!weights.empty() && std::ranges::max(weights) == 0) {
    throw UsageError(concat(option("model_weights"), ": one of the weights must be above 0"));
  }
  return weights;
}

}  // namespace weft::tasks
