// SPDX-License-Identifier: Apache-2.0
// From a block to the sites of its attention mechanisms.
#include "weft/layers/block_config.h"

namespace weft::layers {

attention::MechanismSite site_of(const BlockConfig& config) {
  attention::MechanismSite site;
  site.heads = config.heads;
  site.head_dim = config.head_dim();
  site.layer = config.layer;
  site.maximum_length = config.maximum_length;
  site.causal = config.causal;
  site.incremental = config.causal;
  site.dropout = config.attention_dropout;
  site.position_dropout = config.position_dropout;
  site.alibi = config.alibi;
  site.learned_slopes = config.learned_slopes;
  site.buckets = config.distance_buckets;
  site.directory = config.directory;
  return site;
}

attention::MechanismSite cross_site_of(const BlockConfig& config) {
  attention::MechanismSite site = site_of(config);
  site.maximum_key_length = config.maximum_source_length;
  site.causal = false;
  site.incremental = false;
  site.cross = true;
  site.alibi = false;
  site.buckets.reset();
  return site;
}

}  // namespace weft::layers
