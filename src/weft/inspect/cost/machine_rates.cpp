// SPDX-License-Identifier: Apache-2.0
// Rates between the widths of heads that were measured.
#include "weft/inspect/cost/machine_rates.h"

#include <algorithm>

#include "weft/core/error.h"

namespace weft::inspect {
namespace {

/// first + share * (second - first), field by field. A time is never negative.
template <typename Rates>
Rates blended(const Rates& first, const Rates& second, double share) {
  Rates result;
  Rates::fields([&](const auto& field) {
    const double begin = first.*field.member;
    result.*field.member = std::max(0.0, begin + share * (second.*field.member - begin));
  });
  return result;
}

}  // namespace

AttentionRates attention_rates(const MachineRates& rates, std::string_view dtype, std::int64_t head_dim) {
  std::vector<const MeasuredAttention*> measured;
  for (const MeasuredAttention& each : rates.attention) {
    if (each.dtype == dtype) {
      measured.push_back(&each);
    }
  }
  require(!measured.empty(), "the calibration: attention in ", dtype, " was not measured");
  if (measured.size() == 1) {
    return measured.front()->rates;
  }
  std::sort(measured.begin(), measured.end(), [](const auto* a, const auto* b) { return a->head_dim < b->head_dim; });
  const auto above = std::find_if(measured.begin() + 1, measured.end() - 1,
                                  [&](const MeasuredAttention* each) { return each->head_dim >= head_dim; });
  const MeasuredAttention& first = **(above - 1);
  const MeasuredAttention& second = **above;
  const double share =
      static_cast<double>(head_dim - first.head_dim) / static_cast<double>(second.head_dim - first.head_dim);
  return {blended(first.rates.forward, second.rates.forward, share),
          blended(first.rates.backward, second.rates.backward, share),
          blended(first.rates.dense_forward, second.rates.dense_forward, share),
          blended(first.rates.dense_backward, second.rates.dense_backward, share)};
}

const LayerRates& layer_rates(const MachineRates& rates, std::string_view dtype) {
  const auto found = std::find_if(rates.layers.begin(), rates.layers.end(),
                                  [&](const LayerRates& each) { return each.dtype == dtype; });
  require(found != rates.layers.end(), "the calibration: layers in ", dtype, " were not measured");
  return *found;
}

}  // namespace weft::inspect
