// SPDX-License-Identifier: Apache-2.0
// The table.
#include "weft/checkpoint/published_decoders.h"

#include <algorithm>
#include <array>

#include "weft/checkpoint/reformer/config_json.h"
#include "weft/checkpoint/reformer/directory.h"
#include "weft/checkpoint/transformer_xl/config_json.h"
#include "weft/checkpoint/transformer_xl/directory.h"

namespace weft::checkpoint {
namespace {

constexpr std::array<PublishedDecoder, 2> kDecoders = {{
    {kTransformerXl, "a Transformer-XL", transformer_xl_from_json, transformer_xl_map, save_transformer_xl},
    {kReformer, "a Reformer", reformer_from_json, reformer_map, save_reformer},
}};

}  // namespace

const PublishedDecoder* published_decoder(std::string_view type) {
  const auto* const found = std::find_if(kDecoders.begin(), kDecoders.end(),
                                         [&](const PublishedDecoder& decoder) { return decoder.type == type; });
  return found == kDecoders.end() ? nullptr : found;
}

std::string published_decoder_types(std::string_view last) {
  std::string words;
  for (std::size_t i = 0; i < kDecoders.size(); ++i) {
    words += i == 0 ? "" : i + 1 == kDecoders.size() ? last : ", ";
    words += kDecoders[i].type;
  }
  return words;
}

}  // namespace weft::checkpoint
