// SPDX-License-Identifier: Apache-2.0
// What reading the directories of Marian, Pegasus and M2M100 has in common.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/text/hugging_face/settings.h"
#include "weft/text/hugging_face/tokenizer_files.h"
#include "weft/text/hugging_face/vocabulary.h"
#include "weft/text/pair/token_cutter.h"
#include "weft/text/sentencepiece/processor.h"

namespace weft::text {

/// `needed`, of which none may be missing, and the small files of settings that are there. Errors: kIo.
TokenizerFiles read_pair_files(const std::filesystem::path& directory, std::initializer_list<const char*> needed);

/// A text in tokenizer_config.json, empty where it is null or not there. Errors: kFormat naming `where`.
std::string text_member(const formats::Json& config, const char* key, const std::string& where);

/// Gives a role the family's token where the files name none.
void name_role(TokenizerSettings& settings, SpecialRole role, const char* name);

std::shared_ptr<const SentencePieceProcessor> processor_of(const TokenizerFiles& files, const char* name,
                                                           const std::string& where);

/// Errors: kFormat naming `where` for a token of more than 1,024 bytes.
std::shared_ptr<const TokenCutter> cutter_of(const AddedTokens& added, const std::string& where);

}  // namespace weft::text
