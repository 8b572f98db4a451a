// SPDX-License-Identifier: Apache-2.0
// Measures what the cost model of `weft pattern cost` needs to know of this machine.
#pragma once

#include "weft/pattern/cost/machine_rates.h"

namespace weft::cli {

/// Times attention at each element type and three widths of a head, linear and elementwise layers, and the optimiser,
/// all with LibTorch's present number of threads, in about `seconds`. Below 15 seconds one width alone is measured;
/// 0 measures each call once. Shows progress on stderr.
pattern::MachineRates calibrate(double seconds);

}  // namespace weft::cli
