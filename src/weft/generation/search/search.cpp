// SPDX-License-Identifier: Apache-2.0
// The door to all ways to search: what is asked for is checked here once.
#include "weft/generation/search/search.h"

#include <c10/core/GradMode.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/generation/search/scores.h"

namespace weft::generation {
namespace {

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

const std::vector<Ids>& sources_of(const SearchRequest& request) {
  return request.sources.empty() ? request.prompts : request.sources;
}

}  // namespace

std::span<const std::int64_t> SearchPlan::source(std::int64_t item) const {
  return sources_of(request)[static_cast<std::size_t>(item)];
}

std::int64_t SearchPlan::number(std::int64_t item) const {
  return request.numbers.empty() ? item : request.numbers[static_cast<std::size_t>(item)];
}

bool SearchPlan::is_end(std::int64_t id) const {
  return std::find(config.eos_token_id.begin(), config.eos_token_id.end(), id) != config.eos_token_id.end();
}

std::vector<std::vector<Sequence>> search(Decoder& decoder, const SearchRequest& request,
                                          const GenerationConfig& config) {
  check_request(request, config);
  const at::NoGradGuard without_gradients;
  const auto prompt = static_cast<std::int64_t>(request.prompts.front().size());
  SearchPlan plan{.decoder = decoder, .request = request, .config = config, .lengths = {}, .longest = {}};
  for (const Ids& source : sources_of(request)) {
    const Lengths lengths = lengths_of(config, prompt, decoder.longest(), std::ssize(source));
    plan.longest.push_back(lengths.maximum);
    plan.lengths = lengths.maximum > plan.lengths.maximum ? lengths : plan.lengths;
  }
  return config.num_beams > 1 ? search_beams(plan) : search_rows(plan);
}

}  // namespace weft::generation
