// SPDX-License-Identifier: Apache-2.0
// Tokens become text as they come.
#include "weft/cli/generation/text_continuation.h"

#include "weft/cli/generation/settings_flags.h"
#include "weft/core/error.h"
#include "weft/text/stream_decoder.h"

namespace weft::cli {

generation::GenerationConfig language_model_defaults() {
  generation::GenerationConfig config;
  config.max_new_tokens = 256;
  config.do_sample = true;
  config.top_k = 0;
  return config;
}

bool comes_in_pieces(const generation::GenerationConfig& config) {
  return config.num_beams == 1 && config.num_return_sequences == 1;
}

std::vector<generation::Sequence> continue_text(generation::Decoder& decoder, const text::Tokenizer& tokenizer,
                                                const std::string& prompt, const generation::GenerationConfig& config,
                                                const ContinuationListener& listener) {
  require(!prompt.empty(), "a prompt must have at least one byte");
  text::StreamDecoder stream(tokenizer);
  generation::SearchRequest request{.prompts = {tokenizer.encode(prompt)},
                                    .stops = stop_strings(tokenizer, config.stop_strings)};
  generation::lengths_of(config, std::ssize(request.prompts.front()), decoder.longest());
  const auto waits = [&] { return !listener.waits || listener.waits(); };
  const bool pieces = listener.takes && comes_in_pieces(config);
  if (config.num_beams > 1 && listener.waits) {  // which ask nobody but whether a text ends
    request.stops = [&waits, stops = request.stops](std::span<const std::int64_t> made) {
      return !waits() || (stops && stops(made));
    };
  } else if (config.num_beams == 1) {
    request.on_token = [&](std::int64_t, std::int64_t id) {
      return (!pieces || listener.takes(stream.push(id))) && waits();
    };
  }
  if (listener.begins) {
    listener.begins();
  }
  std::vector<generation::Sequence> texts = generation::search(decoder, request, config).front();
  if (pieces) {
    listener.takes(stream.finish());
  }
  return texts;
}

std::string finish_reason(generation::FinishReason reason) {
  switch (reason) {
    case generation::FinishReason::kLength:
      return "length";
    case generation::FinishReason::kStopToken:
      return "stop_token";
    case generation::FinishReason::kStopString:
      return "stop_string";
    case generation::FinishReason::kCallback:
      return "output_closed";
    case generation::FinishReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

}  // namespace weft::cli
