// SPDX-License-Identifier: Apache-2.0
// Copies of the parameters of the source.
#include "weft/models/families/etc/first_values.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include <array>
#include <string_view>
#include <utility>

namespace weft::models {
namespace {

using Copied = std::pair<std::string_view, std::string_view>;

/// A part of a name, and what it is in the source.
constexpr std::array kCopies{
    Copied{"attention.global_output.", "attention.output."},
    Copied{"global_attention_norm.", "attention_norm."},
    Copied{"encoder.globals.norm.", "encoder.embeddings.norm."},
    Copied{"encoder.globals.token_types", "encoder.embeddings.token_types"},
};

}  // namespace

at::Tensor first_value_of_etc(const std::string& name, const at::Tensor& target, const EncoderModel& source) {
  const auto old = source->named_parameters();
  if (name.find(".attention.mechanism.") != std::string::npos) {
    return at::zeros_like(target);
  }
  if (name == "encoder.globals.tokens") {
    return target + old["encoder.embeddings.tokens"].mean(0);
  }
  for (const auto& [own, of_source] : kCopies) {
    if (const std::size_t at = name.find(own); at != std::string::npos) {
      std::string old_name = name;
      return old[old_name.replace(at, own.size(), of_source)];
    }
  }
  return {};
}

}  // namespace weft::models
