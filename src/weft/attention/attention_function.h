// SPDX-License-Identifier: Apache-2.0
// The paths behind one differentiable function.
#pragma once

#include "weft/attention/attention.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// Runs `call` on `path` (not kAuto) and records it for autograd. Returns output and log-sum-exp; the latter has no
/// gradient.
Forward differentiable_attention(const Call& call, Path path);

}  // namespace weft::attention
