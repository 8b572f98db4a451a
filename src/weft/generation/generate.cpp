// SPDX-License-Identifier: Apache-2.0
// The generation loop.
#include "weft/generation/generate.h"

#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"

namespace weft::generation {
namespace {

void check_request(const Decoder& decoder, const std::vector<std::int64_t>& prompt, const SamplingConfig& config) {
  check_fields(config, "generation");
  require(!prompt.empty(), "the prompt is empty: a decoder needs at least one token to continue");
  // The last token is drawn and never shown to the model.
  const std::int64_t needed = static_cast<std::int64_t>(prompt.size()) + config.max_new_tokens - 1;
  const std::optional<std::int64_t> longest = decoder.longest();
  require(!longest || needed <= *longest, "a prompt of ", prompt.size(),
          " tokens and max_new_tokens = ", config.max_new_tokens,
          " exceed the learned max_position_embeddings = ", longest.value_or(0));
}

/// Why the text ends after `id`, or nothing.
std::optional<FinishReason> ends_after(std::int64_t id, const SamplingConfig& config, const TokenCallback& on_token) {
  if (on_token && !on_token(id)) {
    return FinishReason::kCallback;
  }
  const bool stop = std::find(config.stop_ids.begin(), config.stop_ids.end(), id) != config.stop_ids.end();
  return stop ? std::optional(FinishReason::kStopToken) : std::nullopt;
}

}  // namespace

GenerationResult generate(Decoder& decoder, const std::vector<std::int64_t>& prompt_ids, const SamplingConfig& config,
                          const TokenCallback& on_token) {
  check_request(decoder, prompt_ids, config);
  const at::NoGradGuard without_gradients;
  layers::DecodingState state = decoder.initial_state();
  GenerationResult result;
  // The whole prompt in one pass, then token by token behind the state.
  std::vector<std::int64_t> next = prompt_ids;
  for (std::int64_t step = 0; step < config.max_new_tokens; ++step) {
    if (interrupted()) {
      result.reason = FinishReason::kInterrupted;
      return result;
    }
    const at::Tensor logits = decoder.step(at::tensor(next, at::kLong).unsqueeze(0), state)[0];
    next = {sample(logits, config, step)};
    result.ids.push_back(next.front());
    if (const auto reason = ends_after(next.front(), config, on_token)) {
      result.reason = *reason;
      return result;
    }
  }
  return result;
}

GenerationResult generate(const models::LanguageModel& model, const std::vector<std::int64_t>& prompt_ids,
                          const SamplingConfig& config, const TokenCallback& on_token) {
  LanguageModelDecoder decoder(model);
  return generate(decoder, prompt_ids, config, on_token);
}

}  // namespace weft::generation
