// SPDX-License-Identifier: Apache-2.0
// Late chunking (Guenther et al. 2024): a text is read once, and each of its chunks has the vector of its own tokens,
// which have seen the text around them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tasks/embedding/embedder.h"

namespace weft::tasks {

/// What a chunk is.
struct ChunkRule {
  std::int64_t tokens = 0;  ///< so many tokens of the text, the last chunk fewer; 0: a sentence (text::find_sentences)
};

/// "sentences", or a number of tokens above 0. Errors: kArgument for anything else.
ChunkRule parse_chunk_rule(std::string_view rule);

struct ChunkRun {
  ChunkRule rule = {};
  EmbedRun embed = {};
};

/// For each document its chunks in order [{"start", "end", "byte_start", "byte_end", "tokens", "text", "embedding"}],
/// places in the document.
///
/// Which states count where: a token belongs to the chunk in which its first sign that is no blank stands; one of
/// blanks alone to the chunk before it, at the beginning of a text to the first. Special tokens and those of a prompt
/// belong to none. A text beyond the model's length is read in windows that share `run.stride` tokens; each later
/// window's first `run.stride` tokens of text are dropped, so that each token counts once, in the first window that has
/// it. Chunks may lie in several windows.
///
/// A chunk's vector: the recipe's pooling over its states (mean; mean_sqrt_len_tokens; max; weightedmean by places in
/// the chunk; lasttoken the chunk's last; several beside each other), then the recipe's modules, cut and norm. A
/// sentence without a token has no vector and is left out. With run.truncate the chunks end where the text was cut.
///
/// The metadata is embed()'s with "chunks", in several windows "overlap", and "without_tokens" where sentences were
/// left out. Errors: as embed(); kArgument for cls pooling, which has one vector a text.
std::vector<TaskResult> embed_chunks(Embedder& embedder, std::span<const Document> documents, const ChunkRun& run);

}  // namespace weft::tasks
