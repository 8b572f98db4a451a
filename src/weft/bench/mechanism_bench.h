// SPDX-License-Identifier: Apache-2.0
// Mechanisms beside each other on attention::opening_device(): time and memory of a call by its length, and which calls
// were left out and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

namespace weft::bench {

/// What every mechanism is measured on.
struct MechanismCalls {
  std::vector<std::int64_t> lengths;  ///< ascending
  std::int64_t batch = 1;
  std::int64_t heads = 8;
  std::int64_t head_dim = 64;
  bool causal = false;
  bool backward = true;
  at::ScalarType dtype = at::kFloat;
  double most_seconds = 10;     ///< of one call: one that is expected to take longer is left out
  std::int64_t most_bytes = 0;  ///< of the memory of one call
};

/// A call of one length. Bytes are the most that tensors and the kernel's workspace held at once beyond the inputs,
/// on the device that computes.
struct MechanismTimes {
  std::int64_t length = 0;
  double forward_ms = 0;  ///< without gradients
  std::int64_t forward_bytes = 0;
  std::optional<double> forward_backward_ms;
  std::optional<std::int64_t> forward_backward_bytes;
};

struct MechanismReport {
  std::string attention;  ///< the canonical form at the site, with what it fills in
  std::string refused;    ///< why nothing could be measured; empty where something was
  std::vector<MechanismTimes> times;
  std::int64_t skipped_from = 0;  ///< the first length that was left out; 0: none was
  std::string skipped_why;
  std::optional<std::int64_t> state_bytes;  ///< of a decoder after 1,024 tokens of one text; absent elsewhere
};

/// Of one mechanism. Lengths rise until a call is expected to take more time or memory than it may, from how the calls
/// before it grew (after one call alone as the square of the length). Where the mechanism attends to companions
/// of the text, a call has one of them for every 32 tokens. Errors: kExpression for what is no mechanism.
MechanismReport measure_mechanism(const std::string& expression, const MechanismCalls& calls);

/// The shortest measured length from which on `report` takes less time than `baseline` wherever both were measured;
/// that after the baseline's last where the baseline was left out there. Nothing where it is never faster.
std::optional<std::int64_t> faster_from(const MechanismReport& report, const MechanismReport& baseline);
/// The same of memory.
std::optional<std::int64_t> smaller_from(const MechanismReport& report, const MechanismReport& baseline);
/// The length in tokens where both take as long: where straight lines through the last two lengths that were measured
/// of both, on powers of ten, meet before faster_from(). faster_from() itself where nothing was measured before it, or
/// the baseline was left out there. Nothing where `report` is never faster.
std::optional<std::int64_t> break_even(const MechanismReport& report, const MechanismReport& baseline);

}  // namespace weft::bench
