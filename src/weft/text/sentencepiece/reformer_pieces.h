// SPDX-License-Identifier: Apache-2.0
// spiece.model means something else in each family. In a Reformer's directory it is a SentencePiece model of byte pairs
// whose ids are the model's (google/reformer-crime-and-punishment).
#pragma once

#include <filesystem>

namespace weft::text {

/// Whether `directory` is a Reformer's that has spiece.model and no tokenizer.json: load_tokenizer() then gives the ids
/// of the SentencePiece library. Errors: kFormat for a config.json that is no JSON.
bool has_reformer_pieces(const std::filesystem::path& directory);

}  // namespace weft::text
