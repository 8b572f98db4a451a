// SPDX-License-Identifier: Apache-2.0
// A clock, turns and medians.
#include "weft/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"

namespace weft::bench {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double milliseconds_of(const std::function<void()>& work) {
  const c10::Device device = attention::opening_device();
  attention::synchronise(device);
  const auto start = std::chrono::steady_clock::now();
  work();
  attention::synchronise(device);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::vector<double> median_milliseconds(const std::vector<std::function<void()>>& works, const TimingLimits& limits) {
  std::vector<std::vector<double>> times(works.size());
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (int round = -1; round < limits.least_rounds || (round < limits.most_rounds && seconds() < limits.seconds);
       ++round) {
    for (std::size_t work = 0; work < works.size(); ++work) {
      if (works[work]) {
        const double time = milliseconds_of(works[work]);
        if (round >= 0) {
          times[work].push_back(time);
        }
      }
    }
  }
  std::vector<double> medians;
  medians.reserve(times.size());
  for (const std::vector<double>& values : times) {
    medians.push_back(median(values));
  }
  return medians;
}

}  // namespace weft::bench
