// SPDX-License-Identifier: Apache-2.0
// Times several pieces of work in turns, so that what disturbs the machine disturbs all of them.
#pragma once

#include <functional>
#include <vector>

namespace weft::bench {

struct TimingLimits {
  int least_rounds = 10;
  int most_rounds = 50;
  double seconds = 4;  ///< after least_rounds, no round begins later than this
};

/// Wall time of one run, until attention::opening_device() has done it.
double milliseconds_of(const std::function<void()>& work);

/// The median time of each piece of work in milliseconds, all of them run once a round after one round that is not
/// counted. Empty functions are skipped and give 0.
std::vector<double> median_milliseconds(const std::vector<std::function<void()>>& works,
                                        const TimingLimits& limits = {});

}  // namespace weft::bench
