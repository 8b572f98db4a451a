// SPDX-License-Identifier: Apache-2.0
// Encoder-decoders as directories: those of Hugging Face (Marian, BART, Pegasus, BigBird-Pegasus, LED), and Weft's own.
// Every tensor is checked in both directions, by name and shape, before a weight is used.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "weft/checkpoint/open_model.h"
#include "weft/models/encoder_decoder.h"
#include "weft/text/pair/pair_tokenizer.h"
#include "weft/text/tokenizer.h"

namespace weft::checkpoint {

/// How load_encoder_decoder() reads a directory.
struct EncoderDecoderLoadOptions {
  models::EncoderOptions encoder = {};  ///< how the encoder attends, in place of what the config says
  at::ScalarType dtype = at::kFloat;    ///< of the parameters: float32, bfloat16, float64
  bool check_finite = false;            ///< NaN or infinite weights become a kNumeric error that names the tensor
  bool int8 = false;                    ///< as EncoderLoadOptions has it
  std::optional<double> dropout = {};   ///< of whoever trains on, in place of what the config says
  std::optional<double> attention_dropout = {};
};

/// The model of a directory in evaluation mode, on attention::opening_device(). Its weights may be safetensors or
/// PyTorch's files, whole or in shards, with one copy of the token embeddings or all. Errors: as open_model and
/// load_encoder_decoder_config; kFormat for tensors that are missing, surplus or of another shape than config.json
/// says, naming the tensor and both shapes.
models::EncoderDecoder load_encoder_decoder(const OpenedModel& directory,
                                            const EncoderDecoderLoadOptions& options = {});
models::EncoderDecoder load_encoder_decoder(const std::filesystem::path& directory,
                                            const EncoderDecoderLoadOptions& options = {});

/// The config of what load_encoder_decoder() opens. Errors: as need(Ability::kWrite).
models::EncoderDecoderConfig load_encoder_decoder_config(const OpenedModel& directory);

/// The tokeniser of such a directory: that of its family, or of a model of Weft's own, which reads a text as `weft
/// train` did: eos_token_id behind it and nothing before it, whatever frame the tokeniser's files name. Errors: as
/// text::load_pair_tokenizer and text::load_tokenizer; kArgument for an own model without eos_token_id.
std::unique_ptr<text::PairTokenizer> load_pair_tokenizer(const OpenedModel& directory);

/// What save_encoder_decoder() copies from another directory.
enum class FilesTaken { kTokenizer, kTokenizerAndGeneration };

/// Writes config.json and model.safetensors, which `transformers` loads without a warning where the family is one of
/// Hugging Face, and the graphs that expressions name; copies the tokeniser's files and generation_config.json, or
/// what `taken` says, from `files_from` where that is given. A new directory appears whole; in one that exists each
/// file is replaced atomically, config.json last. Errors: kIo.
void save_encoder_decoder(const std::filesystem::path& directory, const models::EncoderDecoder& model,
                          const std::filesystem::path& files_from = {},
                          FilesTaken taken = FilesTaken::kTokenizerAndGeneration);
/// The same with the tokeniser of a model of Weft's own. Errors: kArgument when it does not fit the config.
void save_encoder_decoder(const std::filesystem::path& directory, const models::EncoderDecoder& model,
                          const text::Tokenizer& tokenizer);
/// The same with the tokeniser that load_pair_tokenizer() gave, for a model of any family.
void save_encoder_decoder(const std::filesystem::path& directory, const models::EncoderDecoder& model,
                          const text::PairTokenizer& tokenizer);

}  // namespace weft::checkpoint
