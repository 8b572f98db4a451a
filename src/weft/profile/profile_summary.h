// SPDX-License-Identifier: Apache-2.0
// What a profile holds, in a few figures of each layer.
#pragma once

#include "weft/formats/config_json.h"
#include "weft/profile/attention_profile.h"

namespace weft::profile {

/// {"model", "texts", "tokens", "dtype", "shard", "parts"}: of each part its name and expression, and how many rows,
/// keys and nats of entropy a row it has, or the reason why it has no sums.
formats::Json summary_json(const AttentionProfile& profile);

}  // namespace weft::profile
