// SPDX-License-Identifier: Apache-2.0
// Generation for programs: ids in a safetensors file, texts as ids in another.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/generation/search/search.h"
#include "weft/models/encoder_decoder.h"

namespace weft::generation {

/// int64; all of an attention_mask that the file lacks is 1. The last two are for an encoder-decoder.
struct TensorTexts {
  at::Tensor input_ids;                   ///< [B, N]
  at::Tensor attention_mask;              ///< [B, N]
  at::Tensor global_attention_mask = {};  ///< [B, N], or undefined: the first token
  at::Tensor decoder_input_ids = {};      ///< [B, T] that the texts begin with, or undefined: the start token
};

/// The tensors that `weft forward` takes; of a model without a source ids and mask alone. Errors: kFormat naming the
/// file and the tensor, for shapes, dtypes, other tensors and masks other than 0 and 1.
TensorTexts read_tensor_texts(const std::string& path, bool with_source);

/// `sequences` int64 [B * num_return_sequences, L] with what comes before the new tokens, filled up with pad_token_id,
/// else the first of eos_token_id, else 0; and `sequences_scores` float32, one a row. A text that the search did not
/// find is `before` alone, with a score of minus infinity.
struct TensorResults {
  at::Tensor sequences;
  at::Tensor scores;
};
TensorResults tabulate(const std::vector<Ids>& before, const std::vector<std::vector<Sequence>>& found,
                       const GenerationConfig& config);

/// Continues the texts of a language model, those of one length together. Padding is to the left, as `transformers`
/// has it. Errors: kFormat naming `path` for other padding; those of search().
TensorResults continue_texts(Decoder& decoder, const TensorTexts& texts, const GenerationConfig& config,
                             const std::string& path);

/// Texts behind the start token for the sources of an encoder-decoder, several at a time. Errors: kFormat naming
/// `path` for a source without a token, or with padding that is not behind it; those of start_token() and search().
TensorResults write_targets(const models::EncoderDecoder& model, const TensorTexts& sources,
                            const GenerationConfig& config, const std::string& path);

}  // namespace weft::generation
