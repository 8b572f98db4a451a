// SPDX-License-Identifier: Apache-2.0
// What the files of a sentence-transformers directory say without a tensor: the list of modules, the limits of the
// transformer, prompts and what becomes of a vector.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace weft::checkpoint {

inline constexpr const char* kSentenceModules = "modules.json";
inline constexpr const char* kSentenceSettings = "config_sentence_transformers.json";
/// Of the transformer, in the order in which the library looks for them.
inline constexpr std::array kSentenceTransformerFiles{
    "sentence_bert_config.json",      "sentence_roberta_config.json", "sentence_distilbert_config.json",
    "sentence_camembert_config.json", "sentence_albert_config.json",  "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};
inline constexpr const char* kCrossEncoder = "CrossEncoder";

struct SentenceSettings {
  std::filesystem::path transformer;  ///< the folder with config.json, the tokeniser and the weights
  std::int64_t max_seq_length = 0;    ///< tokens, special ones included; goes before the tokeniser's; 0: not said
  bool do_lower_case = false;         ///< texts are lowercased before the tokeniser's own rules
  std::map<std::string, std::string> prompts;         ///< by name; put before a text as they are
  std::string default_prompt_name;                    ///< of a prompt, or empty
  std::string similarity = "cosine";                  ///< or dot, euclidean, manhattan
  std::int64_t truncate_dim = 0;                      ///< numbers that are kept of a vector, behind all modules; 0: all
  std::string library_class = "SentenceTransformer";  ///< or CrossEncoder, whose modules are not read: its "model_type"
  std::string activation_fn;  ///< of a cross-encoder that version 6 wrote: the path of its function; empty: not said

  bool is_cross_encoder() const { return library_class == kCrossEncoder; }
};

/// A module as modules.json lists it.
struct ListedModule {
  std::string kind;            ///< the last component of its type
  std::filesystem::path path;  ///< its folder, below the directory; may be empty
  std::string where;           ///< "'DIR/modules.json': module 2 ('Dense')", for errors
};

/// A path in quotes, for messages.
std::string quoted_place(const std::filesystem::path& path);

/// Whether `directory` has a modules.json.
bool is_sentence_directory(const std::filesystem::path& directory);

/// The modules in the order of the list, as the library runs them; the first is a Transformer. Errors: kIo; kFormat for
/// what is malformed, an idx that says another order, a folder outside of the directory; kUnsupported for other
/// people's code and for another first module.
std::vector<ListedModule> read_sentence_list(const std::filesystem::path& directory);

/// Throws kFormat unless the module's folder is there, or its kind (Normalize, Dropout) needs nothing of one.
void require_folder(const std::filesystem::path& directory, const ListedModule& listed);

/// The folder with config.json: `directory`, or where modules.json puts the transformer below it (0_Transformer).
/// Errors: as read_sentence_list(), require_folder().
std::filesystem::path transformer_folder(const std::filesystem::path& directory);

/// What the files beside `list` say. Errors: kIo; kFormat naming the file and field for what is malformed;
/// kUnsupported for settings of a transformer that are not text to token vectors, and for another model_type.
SentenceSettings read_sentence_settings(const std::filesystem::path& directory, const std::vector<ListedModule>& list);

}  // namespace weft::checkpoint
