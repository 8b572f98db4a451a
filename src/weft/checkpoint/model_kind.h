// SPDX-License-Identifier: Apache-2.0
// What a user's DIR turns out to be, before anything of it is used: a model of Weft's own, an encoder, a model that
// Weft does not open, or no model at all. Each error says what to do next.
#pragma once

#include <array>
#include <filesystem>
#include <string_view>

#include "weft/formats/config_json.h"

namespace weft::checkpoint {

/// `model_type` of an encoder-decoder that `weft train` made of nothing.
inline constexpr const char* kOwnPairType = "weft_encoder_decoder";

/// A decoder of transformers that opens as a decoder of Weft's own (models/families/causal_family.h says how).
struct PublishedDecoderType {
  std::string_view type;  ///< `model_type`
  std::string_view name;  ///< what people call it, with its article
};
inline constexpr std::array<PublishedDecoderType, 2> kPublishedDecoderTypes = {
    {{"transfo-xl", "a Transformer-XL"}, {"reformer", "a Reformer"}}};

/// Errors: kIo unless `directory` is a directory, with a hint how to get a model whose name was given in its place.
void check_model_directory(const std::filesystem::path& directory);

/// `directory`/config.json. Errors: as check_model_directory; kIo when the file is not there; kFormat when it is no
/// JSON object or names no model_type.
formats::Json read_model_config(const std::filesystem::path& directory);

/// Whether the config is that of a decoder or encoder that `weft train` made of nothing.
bool is_own_model(const formats::Json& config);

/// Which decoder of transformers the config is of; null where it is of none.
const PublishedDecoderType* published_decoder_type(const formats::Json& config);

/// Whether the config is that of an encoder-decoder: of Weft's own or of a family of Hugging Face. `config` names a
/// model_type.
bool is_encoder_decoder(const formats::Json& config);

/// Errors: kUnsupported unless the config is of one of the encoder families; it names the file, the model_type found
/// and the commands that open such a model.
void require_encoder(const formats::Json& config, const std::filesystem::path& directory);

/// Errors: kUnsupported unless is_encoder_decoder(), in the same way.
void require_encoder_decoder(const formats::Json& config, const std::filesystem::path& directory);

/// Errors: kFormat unless is_own_model() or published_decoder_type(), in the same way.
void require_own_model(const formats::Json& config, const std::filesystem::path& directory);

}  // namespace weft::checkpoint
