// SPDX-License-Identifier: Apache-2.0
// What config.json says of weights that lie as int8 beside it: a byte a number, and a float32 scale an output.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/formats/config_json.h"

namespace weft::checkpoint {

/// The member "quantization_config", in the words of Hugging Face's compressed-tensors. The method has a name of its
/// own, for embeddings and heads are int8 here, too: who does not know it refuses the directory.
formats::Json quantization_config();

/// Takes the member out of `config` where it names that method, and says whether it did. Another method is left to who
/// reads the tensors. Errors: kFormat naming `where` for the same method with other settings.
bool take_quantization(formats::Json& config, std::string_view where);

/// Whether the weights of the model in `directory` are such codes; false where it holds no config.json, which whoever
/// opens it says. Errors: those of open_model() for config.json.
bool has_int8_weights(const std::filesystem::path& directory);

/// The name of the scales of a tensor of codes: float32, of its shape with 1 for the inputs.
std::string scale_name(std::string_view tensor);

}  // namespace weft::checkpoint
