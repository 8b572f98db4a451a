// SPDX-License-Identifier: Apache-2.0
// A name that the model does not take is an error: a misspelt mask would change nothing in silence.
#include "weft/checkpoint/input/input_tensors.h"

#include <algorithm>
#include <array>

#include "weft/checkpoint/tensors.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

constexpr std::array<const char*, 13> kEncoderInputs{
    "input_ids",         "attention_mask",        "token_type_ids", "global_attention_mask", "global_input_ids",
    "global_input_mask", "global_token_type_ids", "sentence_ids",   "paragraph_ids",         "linked_ids",
    "segment_ids",       "global_segment_ids",    "sees_all"};
constexpr std::array<const char*, 5> kPairInputs{"input_ids", "attention_mask", "global_attention_mask",
                                                 "decoder_input_ids", "decoder_attention_mask"};

at::Tensor whole_numbers(const std::string& path, const std::string& name, const at::Tensor& tensor) {
  if (!at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true)) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": tensor ", quote(name), " must hold whole numbers, found ",
         tensor.toString());
  }
  return tensor.to(at::kLong);
}

}  // namespace

std::span<const char* const> encoder_inputs() { return kEncoderInputs; }
std::span<const char* const> pair_inputs() { return kPairInputs; }

InputTensors read_input_tensors(const std::string& path, std::span<const char* const> names,
                                std::initializer_list<const char*> needed) {
  InputTensors inputs;
  for (const auto& [name, tensor] : load_tensors(named_by_user(path))) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string all = joined(names, ", ", [](const char* known) { return known; });
      fail(ErrorKind::kFormat, quote(path, 4096), ": unknown tensor ", quote(name), ", expected ", all);
    }
    inputs[name] = whole_numbers(path, name, tensor);
  }
  for (const char* name : needed) {
    if (!inputs.contains(name)) {
      fail(ErrorKind::kFormat, quote(path, 4096), ": has no tensor '", name, "'");
    }
  }
  return inputs;
}

}  // namespace weft::checkpoint
