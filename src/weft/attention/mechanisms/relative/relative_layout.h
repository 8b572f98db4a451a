// SPDX-License-Identifier: Apache-2.0
// A relative call over a layout: which keys its queries see as a pattern, for kernels and for who watches.
#pragma once

#include "weft/attention/layout.h"
#include "weft/attention/mechanisms/relative/relative_call.h"
#include "weft/attention/profile/attention_mass.h"

namespace weft::attention {

LayoutPtr layout_of_relative(const RelativeCall& call);

/// What the call is to an observer, on any device and in any dtype.
MassCall mass_call_of(const RelativeCall& call);

}  // namespace weft::attention
