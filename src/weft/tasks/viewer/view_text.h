// SPDX-License-Identifier: Apache-2.0
// One text through a model while its attention is watched, for each kind of model.
#pragma once

#include <cstdint>
#include <string>

#include "weft/models/encoder_decoder.h"
#include "weft/models/language_model.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/sequences/writer.h"
#include "weft/tasks/task_model.h"
#include "weft/tasks/viewer/attention_view.h"
#include "weft/text/tokenizer.h"

namespace weft::tasks {

/// A decoder, or an encoder that was trained here. Errors: kArgument for a text without a token, and for one that is
/// longer than the model reads.
AttentionView view_text(models::LanguageModel model, const text::Tokenizer& tokenizer, const std::string& text,
                        const ViewOptions& options);

/// An encoder of a published family: the text, or both texts, with their special tokens, whole. Errors: as
/// encode_document.
AttentionView view_document(TaskModel& task, const Document& document, const ViewOptions& options);

/// An encoder-decoder: document.first is the source, document.second what its decoder is made to write, as it learns
/// to. `start` is its first token. Errors: kArgument for a text that is empty or too long.
AttentionView view_pair(const SequenceModel& texts, models::EncoderDecoder model, std::int64_t start,
                        const Document& document, const ViewOptions& options);

}  // namespace weft::tasks
