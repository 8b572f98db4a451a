// SPDX-License-Identifier: Apache-2.0
// Tokens become text as they come.
#include "weft/generation/continue_text.h"

#include "weft/core/error.h"
#include "weft/generation/stop_strings.h"
#include "weft/text/stream_decoder.h"

namespace weft::generation {

bool comes_in_pieces(const GenerationConfig& config) {
  return config.num_beams == 1 && config.num_return_sequences == 1;
}

std::vector<Sequence> continue_text(Decoder& decoder, const text::Tokenizer& tokenizer, const std::string& prompt,
                                    const GenerationConfig& config, const ContinuationListener& listener) {
  require(!prompt.empty(), "a prompt must have at least one byte");
  text::StreamDecoder stream(tokenizer);
  SearchRequest request{.prompts = {tokenizer.encode(prompt)}, .stops = stop_strings(tokenizer, config.stop_strings)};
  lengths_of(config, std::ssize(request.prompts.front()), decoder.longest());
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
  std::vector<Sequence> texts = search(decoder, request, config).front();
  if (pieces) {
    listener.takes(stream.finish());
  }
  return texts;
}

formats::Json texts_json(const std::vector<Sequence>& texts, const text::Tokenizer& tokenizer,
                         const std::string& prompt, const GenerationConfig& config) {
  formats::Json list = formats::Json::array();
  for (const Sequence& text : texts) {
    formats::Json said = {{"prompt", prompt},
                          {"generated_text", tokenizer.decode(text.ids)},
                          {"new_tokens", text.ids.size()},
                          {"finish_reason", finish_reason(text.reason)}};
    if (config.num_beams > 1) {
      said["score"] = text.score;
    }
    list.push_back(std::move(said));
  }
  return list;
}

std::string finish_reason(FinishReason reason) {
  switch (reason) {
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStopToken:
      return "stop_token";
    case FinishReason::kStopString:
      return "stop_string";
    case FinishReason::kCallback:
      return "output_closed";
    case FinishReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

}  // namespace weft::generation
