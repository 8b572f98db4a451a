// SPDX-License-Identifier: Apache-2.0
// Which files of a directory make its tokeniser.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "weft/text/hugging_face/settings.h"
#include "weft/text/hugging_face/tokenizer_classes.h"

namespace weft::text {

/// The names of vocabularies, tokenizer.json first.
std::span<const char* const> vocabulary_files();
/// Whether `directory` has a vocabulary.
bool has_tokenizer_files(const std::filesystem::path& directory);
/// What config.json has at model_type; empty where it has none, or there is no such file. Errors: kIo, kFormat.
std::string model_type_in(const std::filesystem::path& directory);

/// All files of a tokeniser that are there, and what the small ones say.
struct TokenizerDirectory {
  TokenizerFiles files;
  TokenizerSettings settings;
};
/// Files of 256 MiB each at most. Where several classes read a vocabulary and tokenizer_config.json names none, it gets
/// the one that config.json says. Errors: kIo; kFormat naming `where`.
TokenizerDirectory read_tokenizer_directory(const std::filesystem::path& directory, const std::string& where);
/// The content of tokenizer.json, or of the one that the older files amount to; see compose.h for what that adds to
/// `settings`. Errors: kIo for none, kFormat for several or damaged ones, kUnsupported for a tokeniser class that is
/// read from tokenizer.json only; all name `where`.
std::string tokenizer_json(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where);

/// `json`, a tokenizer.json, with a Lowercase before its other normalizers, unless there is one: what do_lower_case of
/// sentence-transformers asks for. Errors: kFormat naming `where`.
std::string lowercased_first(const std::string& json, const std::string& where);

}  // namespace weft::text
