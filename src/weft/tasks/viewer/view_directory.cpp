// SPDX-License-Identifier: Apache-2.0
// Each kind of model has its way to be looked at.
#include "weft/tasks/viewer/view_directory.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/generation/settings/read_settings.h"
#include "weft/tasks/sequences/sequence_model.h"
#include "weft/tasks/viewer/view_text.h"

namespace weft::tasks {

using formats::Json;

namespace {

AttentionView view_of_pair(const checkpoint::OpenedModel& directory, const Document& document,
                           const ViewOptions& options, const std::string& name) {
  if (!document.second) {
    fail(ErrorKind::kArgument, name, " is an encoder-decoder: it reads a source and writes a target, and needs both");
  }
  SequenceModel sequences = describe_sequence_model(directory, 0);
  sequences.products = options.products;
  const std::int64_t start = generation::start_token(generation::read_settings(directory), name);
  return view_pair(sequences, checkpoint::load_encoder_decoder(directory), start, document, options);
}

AttentionView view_of_task(const checkpoint::OpenedModel& directory, const Document& document,
                           const ViewOptions& options, const std::string&) {
  TaskModel task = open_task_model(directory, {.products = options.products});
  return view_document(task, document, options);
}

AttentionView view_of_text(const checkpoint::OpenedModel& directory, const Document& document,
                           const ViewOptions& options, const std::string& name) {
  if (document.second) {
    fail(ErrorKind::kArgument, name, " reads one text, found two");
  }
  const std::unique_ptr<text::Tokenizer> tokenizer = checkpoint::load_tokenizer(directory);
  return view_text(checkpoint::load_model(directory), *tokenizer, document.first, options);
}

using View = AttentionView (*)(const checkpoint::OpenedModel& directory, const Document& document,
                               const ViewOptions& options, const std::string& name);
constexpr std::array kViews{checkpoint::Way<View>{checkpoint::Ability::kWrite, view_of_pair},
                            checkpoint::Way<View>{checkpoint::Ability::kPredict, view_of_text},
                            checkpoint::Way<View>{checkpoint::Ability::kRead, view_of_task}};

}  // namespace

AttentionView view_directory(const checkpoint::OpenedModel& directory, const Document& document,
                             const ViewOptions& options) {
  return way_of(directory, kViews)(directory, document, options, quote(directory.path().string(), 4096));
}

Json summary_of_view(const AttentionView& view) {
  Json parts = Json::array();
  for (const ViewedPart& part : view.parts) {
    Json json = {{"name", part.name}, {"expression", part.expression}, {"heads", part.heads.size()}};
    if (part.heads.empty()) {
      json["reason"] = part.reason.empty() ? "not computed for this text" : part.reason;
    } else {
      json["cell"] = part.cell;
    }
    parts.push_back(std::move(json));
  }
  return {{"source_tokens", view.source.tokens.size()},
          {"target_tokens", view.target.tokens.size()},
          {"parts", std::move(parts)}};
}

void require_weights(const Json& summary, const std::string& run) {
  std::string reason;
  for (const Json& part : summary.at("parts")) {
    if (!part.contains("reason")) {
      return;
    }
    reason = part.at("reason").get<std::string>();
  }
  fail(ErrorKind::kUnsupported, quote(run, 4096), ": no layer has weights to show: ", reason);
}

}  // namespace weft::tasks
