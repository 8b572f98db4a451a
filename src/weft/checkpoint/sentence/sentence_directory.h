// SPDX-License-Identifier: Apache-2.0
// Directories of sentence-transformers: modules.json and what lies beside it, read without opening the transformer, and
// written back. Both generations of names are read (sentence_transformers.models.Pooling with pooling_mode_mean_tokens,
// sentence_transformers...pooling.Pooling with pooling_mode).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "weft/checkpoint/sentence/sentence_modules.h"
#include "weft/checkpoint/sentence/sentence_settings.h"

namespace weft::checkpoint {

struct SentenceDirectory : SentenceSettings {
  std::vector<SentenceModule> modules;  ///< behind the transformer, in order; none of a cross-encoder
};

/// What modules.json and its kin say; nothing where `directory` has no modules.json. The modules come in the order of
/// the list, as the library runs them; an idx that says otherwise is an error. Weights of modules are read whole, from
/// model.safetensors or else pytorch_model.bin. Widths are checked from module to module, and against the
/// transformer's by whoever opens it. Errors, each naming the file, what was expected and found and what to do: kIo;
/// kFormat for what is malformed, a folder that is listed and absent (but for kinds that need nothing of it: Normalize,
/// Dropout), a folder outside of the directory, tensors that are missing, surplus or of another shape; kUnsupported for
/// a kind of module or an activation that Weft does not have, for other people's code, and for settings of a
/// transformer that are not text to token vectors.
std::optional<SentenceDirectory> read_sentence_directory(const std::filesystem::path& directory);

/// Writes modules.json, sentence_bert_config.json, config_sentence_transformers.json and a folder a module (1_Pooling,
/// 2_Dense) into `directory`, which holds the transformer itself: `sentence.transformer` is not looked at. The names
/// are those that every version of the library from 2 on reads, where they can say it. Replaces what is there, file by
/// file; modules.json comes last. Errors: kIo.
void write_sentence_directory(const std::filesystem::path& directory, const SentenceDirectory& sentence);

}  // namespace weft::checkpoint
