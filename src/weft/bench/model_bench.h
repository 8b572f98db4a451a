// SPDX-License-Identifier: Apache-2.0
// Times an encoder beside the matrix products that it consists of: the floor that no implementation goes below.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/models/encoder_model.h"

namespace weft::bench {

struct ModelCase {
  std::int64_t length = 4096;
  std::int64_t batch = 1;
  at::ScalarType dtype = at::kFloat;  ///< of the products: parameters in inference, autocast in training
  bool fill_mask = false;             ///< scores over the vocabulary at kMasks positions of each row
  bool train = false;                 ///< loss over all positions and its gradients
  std::int64_t repeats = 5;
};

/// Masks in a row that --task fill-mask fills.
inline constexpr std::int64_t kMasks = 8;

/// Token ids that are the same in every run, all of them below the vocabulary's size.
models::EncoderInput bench_input(const models::EncoderConfig& config, const ModelCase& call);

/// The best of `repeats` runs in seconds, after one that is not counted.
double best_seconds(const std::function<void()>& work, std::int64_t repeats);

/// One run of what the case says.
void run_case(models::EncoderModel& model, const models::EncoderInput& input, const ModelCase& call);

/// Operations (two for each multiplication with its addition) of the products of the model: projections, feed-forward
/// and head, without attention; three times as many with the backward pass.
double product_flops(const models::EncoderModelImpl& model, const ModelCase& call);

/// Operations in a second of the fastest of the model's products in the case's dtype, measured alone.
double product_rate(const models::EncoderConfig& config, const ModelCase& call);

/// One operator's share of a run.
struct OperatorTime {
  std::string name;
  double seconds = 0;  ///< without the operators that it called
  std::int64_t calls = 0;
};

/// One run with every operator of LibTorch and of Weft timed on the calling thread, the slowest first. On another
/// device than the CPU each is waited for, so that together they take longer than a run.
std::vector<OperatorTime> profile(const std::function<void()>& work);

/// The largest resident size of this process so far, or on another device than the CPU the most bytes of tensors there,
/// in GB (10^9 bytes).
double peak_gigabytes();

}  // namespace weft::bench
