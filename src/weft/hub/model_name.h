// SPDX-License-Identifier: Apache-2.0
// Names of models on a Hub: "organisation/name", or one word for a model that is older than organisations ("gpt2"). A
// revision other than main stands behind it: "@revision". A name becomes part of addresses and of paths, so that only
// what the Hub itself allows is a name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::hub {

/// What "organisation/name@revision" says.
struct ModelName {
  std::string repository;         ///< "organisation/name", or "name"
  std::string revision = "main";  ///< a branch, a tag, "refs/pr/1" or a commit

  /// As a user writes it: without "@main".
  std::string text() const;
  /// The folder of the cache: "models--organisation--name".
  std::string folder() const;
  /// Whether it has no organisation: then it may just as well be the name of a directory.
  bool is_one_word() const;
};

/// The name that `text` is, or nothing where it can be none: a path, a revision with "..".
std::optional<ModelName> parse_model_name(std::string_view text);

/// The repository of a folder of the cache, or nothing where the folder is not one of a model.
std::optional<std::string> repository_of_folder(std::string_view folder);

/// Whether `text` has `digits` hexadecimal digits in lower case: 40 for commits and SHA-1, 64 for SHA-256.
bool is_hex(std::string_view text, std::size_t digits);

}  // namespace weft::hub
