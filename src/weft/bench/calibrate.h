// SPDX-License-Identifier: Apache-2.0
// Measures what the cost model of `weft pattern cost` needs to know of this machine: times of calls whose work is
// known, and from them the time of each thing that a call does.
#pragma once

#include "weft/inspect/cost/layout_work.h"
#include "weft/inspect/cost/machine_rates.h"

namespace weft::bench {

/// On attention::opening_device(). Times attention at each element type and three widths of a head, linear and
/// elementwise layers, and the optimiser, all with LibTorch's present number of threads, in about `seconds`. Below 15
/// seconds one width alone is measured; 0 measures each call once. Shows progress on stderr.
inspect::MachineRates calibrate(double seconds);

/// One call, and how long it took.
struct TimedWork {
  inspect::LayoutWork work;
  double seconds = 0;
};

/// Six calls that do different things: rows with one full block each, rows full of them, partial blocks with all keys
/// and with one, blocks with multiplicities, and full blocks that are packed again each time.
struct TimedCalls {
  TimedWork rows;
  TimedWork full;
  TimedWork masked;
  TimedWork narrow;
  TimedWork weighted;
  TimedWork scattered;
  double refills = 0;  ///< of the last call, in the direction that was timed
};

/// The rates at which all six take the time that they took; what noise makes negative is zero. The calls are square,
/// so that rows of queries and of keys are as many.
inspect::KernelRates kernel_rates(const TimedCalls& calls);

/// Dense attention of `heads` heads takes `short_seconds` at `short_length` and `long_seconds` at `long_length`.
struct DenseTimes {
  double heads = 1;
  double short_length = 0;
  double short_seconds = 0;
  double long_length = 0;
  double long_seconds = 0;
};
inspect::DenseRates dense_rates(const DenseTimes& times);

}  // namespace weft::bench
