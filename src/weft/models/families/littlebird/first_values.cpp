// SPDX-License-Identifier: Apache-2.0
// Copies and slices of the parameters of the source.
#include "weft/models/families/littlebird/first_values.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/layer_norm.h>

#include <array>
#include <string_view>

#include "weft/models/families/encoder_rules.h"

namespace weft::models {
namespace {

using Parameters = torch::OrderedDict<std::string, at::Tensor>;

/// [count, hidden].
at::Tensor first_latents(const Parameters& old, const EncoderConfig& config, std::int64_t count) {
  const std::int64_t padding = padding_rows(config);
  const at::Tensor numbers = at::arange(count, at::TensorOptions(at::kLong));
  const at::Tensor places = (numbers * config.maximum_length()).floor_divide(count) + padding;
  const at::Tensor rows = old["encoder.embeddings.positions"].index_select(0, places) +
                          old["encoder.embeddings.token_types"][0] + old["encoder.embeddings.tokens"].mean(0);
  return at::layer_norm(rows, {rows.size(1)}, old["encoder.embeddings.norm.weight"],
                        old["encoder.embeddings.norm.bias"], config.layer_norm_eps);
}

/// A module of packing, and the one that it begins as: `thirds` of the rows of the latter from third `first` on.
struct PackOrigin {
  std::string_view name;
  std::string_view old_name;
  std::int64_t first = 0;
  std::int64_t thirds = 3;
};

constexpr std::array kOrigins{
    PackOrigin{".pack.query.", ".attention.qkv.", 0, 1},
    PackOrigin{".pack.key_value.", ".attention.qkv.", 1, 2},
    PackOrigin{".pack.output.", ".attention.output."},
    PackOrigin{".pack_norm.", ".attention_norm."},
};

}  // namespace

at::Tensor first_value_of_littlebird(const std::string& name, const at::Tensor& target, const EncoderModel& source) {
  const Parameters old = source->named_parameters();
  if (name == "encoder.latents") {
    return first_latents(old, source->config(), target.size(0));
  }
  for (const PackOrigin& origin : kOrigins) {
    if (const std::size_t at = name.find(origin.name); at != std::string::npos) {
      std::string old_name = name;
      old_name.replace(at, origin.name.size(), origin.old_name);
      const at::Tensor& rows = old[old_name];
      return origin.thirds == 3 ? rows
                                : rows.narrow(0, rows.size(0) / 3 * origin.first, rows.size(0) / 3 * origin.thirds);
    }
  }
  return {};
}

}  // namespace weft::models
