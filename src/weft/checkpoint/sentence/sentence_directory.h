// SPDX-License-Identifier: Apache-2.0
// Directories of sentence-transformers: modules.json and what lies beside it, read without opening the transformer, and
// written back. Both generations of names are read (sentence_transformers.models.Pooling with pooling_mode_mean_tokens,
// sentence_transformers...pooling.Pooling with pooling_mode).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/checkpoint/sentence/sentence_modules.h"

namespace weft::checkpoint {

struct SentenceDirectory {
  std::filesystem::path transformer;    ///< the folder with config.json, the tokeniser and the weights
  std::int64_t max_seq_length = 0;      ///< tokens, special ones included; goes before the tokeniser's; 0: not said
  bool do_lower_case = false;           ///< texts are lowercased before the tokeniser's own rules
  std::vector<SentenceModule> modules;  ///< behind the transformer, in order; none of a cross-encoder
  std::map<std::string, std::string> prompts;      ///< by name; put before a text as they are
  std::string default_prompt_name;                 ///< of a prompt, or empty
  std::string similarity = "cosine";               ///< or dot, euclidean, manhattan
  std::int64_t truncate_dim = 0;                   ///< numbers that are kept of a vector, behind all modules; 0: all
  std::string model_type = "SentenceTransformer";  ///< or CrossEncoder, whose modules are not read
  std::string activation_fn;  ///< of a cross-encoder that version 6 wrote: the path of its function; empty: not said
};

/// Whether `directory` has a modules.json.
bool is_sentence_directory(const std::filesystem::path& directory);

/// What modules.json and its kin say; nothing where `directory` has no modules.json. The modules come in the order of
/// the list, as the library runs them; an idx that says otherwise is an error. Weights of modules are read whole, from
/// model.safetensors or else pytorch_model.bin. Widths are checked from module to module, and against the
/// transformer's by whoever opens it. Errors, each naming the file, what was expected and found and what to do: kIo;
/// kFormat for what is malformed, a folder that is listed and absent (but for kinds that need nothing of it: Normalize,
/// Dropout), a folder outside of the directory, tensors that are missing, surplus or of another shape; kUnsupported for
/// a kind of module or an activation that Weft does not have, for other people's code, and for settings of a
/// transformer that are not text to token vectors.
std::optional<SentenceDirectory> read_sentence_directory(const std::filesystem::path& directory);

/// The folder with config.json: `directory`, or where modules.json puts the transformer below it (0_Transformer).
/// Errors: as read_sentence_directory(), of the list and its first entry alone.
std::filesystem::path transformer_folder(const std::filesystem::path& directory);

/// Writes modules.json, sentence_bert_config.json, config_sentence_transformers.json and a folder a module (1_Pooling,
/// 2_Dense) into `directory`, which holds the transformer itself: `sentence.transformer` is not looked at. The names
/// are those that every version of the library from 2 on reads, where they can say it. Replaces what is there, file by
/// file; modules.json comes last. Errors: kIo.
void write_sentence_directory(const std::filesystem::path& directory, const SentenceDirectory& sentence);

}  // namespace weft::checkpoint
