// SPDX-License-Identifier: Apache-2.0
// One prompt as a batch of one.
#include "weft/generation/generate.h"

#include "weft/core/error.h"

namespace weft::generation {

GenerationResult generate(Decoder& decoder, const Ids& prompt_ids, const GenerationConfig& config,
                          const TokenCallback& on_token) {
  SearchRequest request{.prompts = {prompt_ids}};
  if (on_token) {
    request.on_token = [&](std::int64_t row, std::int64_t id) { return row != 0 || on_token(id); };
  }
  std::vector<Sequence> found = search(decoder, request, config).front();
  if (found.empty()) {
    fail(ErrorKind::kNumeric, "the search found no text that the settings allow");
  }
  return std::move(found.front());
}

GenerationResult generate(const models::LanguageModel& model, const Ids& prompt_ids, const GenerationConfig& config,
                          const TokenCallback& on_token) {
  LanguageModelDecoder decoder(model);
  return generate(decoder, prompt_ids, config, on_token);
}

}  // namespace weft::generation
