// SPDX-License-Identifier: Apache-2.0
// The table.
#include "weft/checkpoint/published_decoders.h"

#include <algorithm>
#include <array>

#include "weft/checkpoint/model_kind.h"
#include "weft/checkpoint/reformer/config_json.h"
#include "weft/checkpoint/reformer/directory.h"
#include "weft/checkpoint/transformer_xl/config_json.h"
#include "weft/checkpoint/transformer_xl/directory.h"

namespace weft::checkpoint {
namespace {

constexpr std::array<PublishedDecoder, kPublishedDecoderTypes.size()> kDecoders = {{
    {kTransformerXl, transformer_xl_from_json, transformer_xl_map, save_transformer_xl},
    {kReformer, reformer_from_json, reformer_map, save_reformer},
}};

}  // namespace

const PublishedDecoder* published_decoder(std::string_view type) {
  const auto* const found = std::find_if(kDecoders.begin(), kDecoders.end(),
                                         [&](const PublishedDecoder& decoder) { return decoder.type == type; });
  return found == kDecoders.end() ? nullptr : found;
}

}  // namespace weft::checkpoint
