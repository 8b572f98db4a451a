// SPDX-License-Identifier: Apache-2.0
// Inputs of a model in a safetensors file, under the names of transformers.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>

#include <ATen/core/Tensor.h>

namespace weft::checkpoint {

/// Tensors by name, int64; the operator [] gives an undefined one for a name that the file lacks.
using InputTensors = std::map<std::string, at::Tensor>;

/// What the encoders take, and the encoder-decoders.
std::span<const char* const> encoder_inputs();
std::span<const char* const> pair_inputs();

/// Reads `path`, which must have the tensors `needed` and may have the others of `names`: whole numbers of any width,
/// and bool. What they stand for is the model's to check. Errors: kFormat naming file and tensor; those of
/// load_tensors().
InputTensors read_input_tensors(const std::string& path, std::span<const char* const> names,
                                std::initializer_list<const char*> needed);

}  // namespace weft::checkpoint
