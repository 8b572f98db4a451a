// SPDX-License-Identifier: Apache-2.0
// Files are read whole, within bounds, before anything looks into them.
#include "weft/text/pair/directory_files.h"

#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"

namespace weft::text {
namespace {

constexpr const char* kTokenizerConfig = "tokenizer_config.json";

}  // namespace

TokenizerFiles read_pair_files(const std::filesystem::path& directory, std::initializer_list<const char*> needed) {
  constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;
  TokenizerFiles files;
  for (const char* name : needed) {
    files.emplace(name, read_file(ModelFile(directory, name), kLargestFile));
  }
  for (const char* name : {kTokenizerConfig, "special_tokens_map.json", "added_tokens.json"}) {
    if (const ModelFile file(directory, name); file.exists()) {
      files.emplace(name, read_file(file, kLargestFile));
    }
  }
  return files;
}

std::string text_member(const formats::Json& config, const char* key, const std::string& where) {
  const formats::Json field = config.value(key, formats::Json());
  if (!field.is_string() && !field.is_null()) {
    fail(ErrorKind::kFormat, where, ": ", kTokenizerConfig, ": ", key, " must be a string, found ", field.type_name());
  }
  return field.is_string() ? field.get<std::string>() : std::string();
}

void name_role(TokenizerSettings& settings, SpecialRole role, const char* name) {
  auto& named = settings.named[static_cast<std::size_t>(role)];
  if (!named) {
    named = AddedToken{.content = name, .special = true};
  }
}

std::shared_ptr<const SentencePieceProcessor> processor_of(const TokenizerFiles& files, const char* name,
                                                           const std::string& where) {
  return std::make_shared<const SentencePieceProcessor>(files.at(name), concat(where, ": ", name));
}

std::shared_ptr<const TokenCutter> cutter_of(const AddedTokens& added, const std::string& where) {
  constexpr std::size_t kLongestToken = 1024;  // bytes: each is looked for at every place of a text
  std::vector<NumberedToken> tokens;
  for (const formats::Json& token : added.json()) {
    AddedToken read{.content = token["content"].get<std::string>(),
                    .strip_left = token["lstrip"].get<bool>(),
                    .strip_right = token["rstrip"].get<bool>(),
                    .single_word = token["single_word"].get<bool>(),
                    .special = token["special"].get<bool>()};
    if (read.content.size() > kLongestToken) {
      fail(ErrorKind::kFormat, where, ": the token ", quote(read.content), " has ", read.content.size(),
           " bytes, more than ", kLongestToken);
    }
    tokens.push_back({token["id"].get<std::int64_t>(), std::move(read)});
  }
  return std::make_shared<const TokenCutter>(std::move(tokens));
}

}  // namespace weft::text
