// SPDX-License-Identifier: Apache-2.0
// From a block to the site of its attention mechanism.
#include "weft/layers/block_config.h"

namespace weft::layers {

attention::MechanismSite site_of(const BlockConfig& config) {
  attention::MechanismSite site;
  site.heads = config.heads;
  site.head_dim = config.head_dim();
  site.layer = config.layer;
  site.maximum_length = config.maximum_length;
  site.causal = config.causal;
  site.dropout = config.attention_dropout;
  site.alibi = config.alibi;
  site.directory = config.directory;
  return site;
}

}  // namespace weft::layers
