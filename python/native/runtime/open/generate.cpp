// SPDX-License-Identifier: Apache-2.0
// Texts behind prompts, by a language model.
#include <chrono>

#include "task_call.h"
#include "weft/core/interrupt.h"
#include "weft/core/quote.h"
#include "weft/generation/continue_text.h"
#include "weft/layers/inference/int8_weight.h"
#include "weft/text/unknown_tokens.h"
#include "weft/training/precision.h"

namespace weft::python {

Results generate(Opened& model, const TaskCall& call) {
  model.directory().need(checkpoint::Ability::kContinue);
  const generation::GenerationConfig config = model.generation(call.given, call.task);
  require(!call.takes || generation::comes_in_pieces(config), call.task,
          ": a text comes in pieces where it is the only one: num_beams and num_return_sequences must be 1");
  OpenedDecoder& opened = model.decoder();
  const training::AutocastGuard autocast(opened.products);
  Results results;
  results.reserve(call.documents.size());
  for (const tasks::Document& prompt : call.documents) {
    text::warn_of_unknown_text(*opened.tokenizer, prompt.first, quote(model.directory().root().native(), 4096));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<generation::Sequence> texts =
        generation::continue_text(*opened.decoder, *opened.tokenizer, prompt.first, config, {.takes = call.takes});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    formats::Json metadata = {{"dtype", opened.dtype}, {"seconds", seconds}};
    if (layers::holds_int8(*opened.model)) {
      metadata["weights"] = "int8";
    }
    results.push_back({generation::texts_json(texts, *opened.tokenizer, prompt.first, config), std::move(metadata)});
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, prompt.name, ": stopped after ", texts.empty() ? 0 : texts.front().ids.size(),
           " tokens");
    }
  }
  return results;
}

}  // namespace weft::python
