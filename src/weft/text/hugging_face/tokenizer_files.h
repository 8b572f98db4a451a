// SPDX-License-Identifier: Apache-2.0
// Which files of a directory make its tokeniser.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "weft/text/hugging_face/settings.h"

namespace weft::text {

/// Contents by name.
using TokenizerFiles = std::map<std::string, std::string>;

/// Whether `directory` has a vocabulary.
bool has_tokenizer_files(const std::filesystem::path& directory);
/// All files of a tokeniser that are there, 256 MiB each at most. Errors: kIo, kFormat.
TokenizerFiles read_tokenizer_files(const std::filesystem::path& directory);
/// The content of tokenizer.json, or of the one that the older files amount to; see compose.h for what that adds to
/// `settings`. Errors: kIo for none, kFormat for several or damaged ones, kUnsupported for a tokeniser class that is
/// read from tokenizer.json only; all name `where`.
std::string tokenizer_json(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where);

/// `json`, a tokenizer.json, with a Lowercase before its other normalizers, unless there is one: what do_lower_case of
/// sentence-transformers asks for. Errors: kFormat naming `where`.
std::string lowercased_first(const std::string& json, const std::string& where);

/// A tokeniser class of transformers without its ending, for comparison.
constexpr std::string_view without_fast(std::string_view name) {
  name.remove_suffix(name.ends_with("Fast") ? 4 : 0);
  return name;
}

}  // namespace weft::text
