// SPDX-License-Identifier: Apache-2.0
// Where the model of a directory looks while it reads one text, whichever kind of model it is.
#pragma once

#include <string>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/viewer/attention_view.h"

namespace weft::tasks {

/// Opens the weights of `directory`. Errors: kArgument where an encoder-decoder has no second text, and a model of one
/// text has one; those of view_text(), view_document() and view_pair().
AttentionView view_directory(const checkpoint::OpenedModel& directory, const Document& document,
                             const ViewOptions& options);

/// {"source_tokens", "target_tokens", "parts": [{"name", "expression", "heads", "cell" or "reason"}]}.
formats::Json summary_of_view(const AttentionView& view);

/// Errors: kUnsupported naming `run` where no part of the summary has weights to show.
void require_weights(const formats::Json& summary, const std::string& run);

}  // namespace weft::tasks
