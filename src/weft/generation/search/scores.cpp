// SPDX-License-Identifier: Apache-2.0
// Scores of a step, and the door to all ways to search.
#include "weft/generation/search/scores.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"

namespace weft::generation {
namespace {

void check_finite(std::span<const float> scores) {
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (!(scores[id] < std::numeric_limits<float>::infinity())) {  // also for NaN
      fail(ErrorKind::kNumeric, "the logit of token ", id, " is ", scores[id],
           ": the model's weights hold NaN or infinity, or its numbers overflow");
    }
  }
}

void check_request(const SearchRequest& request, const GenerationConfig& config) {
  validate(config, "generation");
  require(!request.prompts.empty(), "there is no prompt to continue");
  for (const Ids& prompt : request.prompts) {
    require(!prompt.empty(), "the prompt is empty: a decoder needs at least one token to continue");
    require(prompt.size() == request.prompts.front().size(), "the prompts of one batch must have one length, found ",
            request.prompts.front().size(), " and ", prompt.size(), " tokens; give those of each length by themselves");
  }
  require(request.sources.empty() || request.sources.size() == request.prompts.size(), "there are ",
          request.sources.size(), " sources for ", request.prompts.size(), " prompts");
  require(request.numbers.empty() || request.numbers.size() == request.prompts.size(), "there are ",
          request.numbers.size(), " numbers for ", request.prompts.size(), " prompts");
  require(config.num_beams == 1 || !request.on_token,
          "tokens cannot be shown as they come while beams are searched: give num_beams 1");
}

}  // namespace

std::span<const std::int64_t> SearchPlan::source(std::int64_t item) const {
  const std::vector<Ids>& texts = request.sources.empty() ? request.prompts : request.sources;
  return texts[static_cast<std::size_t>(item)];
}

std::int64_t SearchPlan::number(std::int64_t item) const {
  return request.numbers.empty() ? item : request.numbers[static_cast<std::size_t>(item)];
}

bool SearchPlan::is_end(std::int64_t id) const {
  return std::find(config.eos_token_id.begin(), config.eos_token_id.end(), id) != config.eos_token_id.end();
}

at::Tensor step_scores(const SearchPlan& plan, const at::Tensor& tokens, layers::DecodingState& state) {
  const at::Tensor logits = plan.decoder.step(tokens, state);
  // A copy only where it is needed: nobody else reads the decoder's logits.
  at::Tensor scores = logits.detach().to(at::kCPU, at::kFloat).contiguous();
  if (!plan.config.remove_invalid_values) {
    for_each_row(scores.size(0), scores.size(1), [&](std::int64_t row) { check_finite(row_of(scores, row)); });
  }
  return scores;
}

std::span<float> row_of(const at::Tensor& scores, std::int64_t row) {
  return {scores.data_ptr<float>() + row * scores.size(1), static_cast<std::size_t>(scores.size(1))};
}

void for_each_row(std::int64_t rows, std::int64_t width, const std::function<void(std::int64_t row)>& work) {
  constexpr std::int64_t kNumbersOfAThread = 8192;  // to wake one up costs as much
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbersOfAThread / std::max<std::int64_t>(1, width));
  at::parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      work(row);
    }
  });
}

at::Tensor list_of(const Ids& ids) { return at::tensor(ids, at::kLong); }

at::Tensor table_of(const std::vector<Ids>& texts) {
  const auto columns = static_cast<std::int64_t>(texts.front().size());
  at::Tensor table = at::empty({std::ssize(texts), columns}, at::kLong);
  for (std::size_t row = 0; row < texts.size(); ++row) {
    std::copy(texts[row].begin(), texts[row].end(),
              table.mutable_data_ptr<std::int64_t>() + static_cast<std::int64_t>(row) * columns);
  }
  return table;
}

std::vector<std::vector<Sequence>> search(Decoder& decoder, const SearchRequest& request,
                                          const GenerationConfig& config) {
  check_request(request, config);
  const at::NoGradGuard without_gradients;
  const auto prompt = static_cast<std::int64_t>(request.prompts.front().size());
  const SearchPlan plan{decoder, request, config, lengths_of(config, prompt, decoder.longest())};
  return config.num_beams > 1 ? search_beams(plan) : search_rows(plan);
}

}  // namespace weft::generation
