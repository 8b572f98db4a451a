// SPDX-License-Identifier: Apache-2.0
// What tokenizer.json files of several families have in common, as they are written here.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/text/hugging_face/settings.h"
#include "weft/text/hugging_face/vocabulary.h"

namespace weft::text {

/// Names the roles that the files leave unnamed, in the order of SpecialRole; null: the family names none.
void name_roles(TokenizerSettings& settings, const std::array<const char*, kSpecialRoles>& names);

/// The whole file: `parts` without the model, whose text may be long and is put in as it is.
std::string assemble(const formats::Json& parts, const AddedTokens& added, const std::string& model);

/// [CLS] A [SEP] and [CLS] A [SEP] B [SEP], by the names of the roles; the second text has the type 1.
formats::Json bert_processor(const TokenizerSettings& settings, const AddedTokens& added);

/// <s> A </s> and <s> A </s> </s> B </s>, by the names of the roles; all types are 0.
formats::Json two_ends_processor(const TokenizerSettings& settings, const AddedTokens& added);

/// A and A B, with nothing around them; the second text has the type 1.
formats::Json bare_processor();

/// A </s> and A </s> B </s>, by the name of the end; all types are 0.
formats::Json one_end_processor(const TokenizerSettings& settings, const AddedTokens& added);

/// code A </s>, or A </s> code, and the same around two texts, which nothing is between.
formats::Json language_processor(const TokenizerSettings& settings, const AddedTokens& added, const std::string& code,
                                 bool code_first);

}  // namespace weft::text
