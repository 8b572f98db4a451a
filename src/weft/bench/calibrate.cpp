// SPDX-License-Identifier: Apache-2.0
// The calls that are timed, each chosen so that it is mostly one kind of work.
#include "weft/bench/calibrate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/bench/attention_bench.h"
#include "weft/core/error.h"
#include "weft/core/progress.h"
#include "weft/layers/linear.h"
#include "weft/pattern/build.h"
#include "weft/training/optimizers/adamw.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kLength = 2048;    // a call takes tens of milliseconds
constexpr std::int64_t kLongRows = 8192;  // for a pattern with one block a row
constexpr double kAttentionShare = 0.85;  // of the whole budget

/// At least one round after the one that warms up, and three where there is time.
TimingLimits limits_of(double seconds) {
  return {.least_rounds = seconds < 2 ? 1 : 3, .most_rounds = 50, .seconds = seconds};
}

/// From 768 tokens on LibTorch's blocks have one size.
constexpr std::array<std::int64_t, 2> kDenseLengths{1024, kLength};

/// Every pair of blocks twice, so that every block has multiplicities.
pattern::Pattern doubled_blocks(std::int64_t blocks) {
  std::vector<std::int64_t> row;
  for (std::int64_t block = 0; block < blocks; ++block) {
    row.insert(row.end(), {block, block});
  }
  pattern::BlockPlan plan{{std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(blocks), row)}};
  return pattern::Pattern(pattern::block(64, pattern::plan(std::move(plan))));
}

/// Twice the blocks that a thread keeps packed, and eight full blocks a row that no row nearby looks at: each one is
/// gone when it is met again, forwards and backwards.
pattern::Pattern scattered_blocks(std::int64_t blocks) {
  constexpr std::int64_t kPerRow = 8;
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(blocks));
  for (std::int64_t row = 0; row < blocks; ++row) {
    for (std::int64_t block = row % (blocks / kPerRow); block < blocks; block += blocks / kPerRow) {
      rows[static_cast<std::size_t>(row)].push_back(block);
    }
  }
  return pattern::Pattern(pattern::block(64, pattern::plan({{std::move(rows)}})));
}

/// Which widths of heads are measured: the middle one alone where there is no time for all. A budget of 0 asks for each
/// call once, however long that takes.
std::vector<std::int64_t> widths_for(double seconds) {
  constexpr double kTimeForAll = 15;
  return seconds == 0 || seconds >= kTimeForAll ? std::vector<std::int64_t>{32, 64, 128}
                                                : std::vector<std::int64_t>{64};
}

/// Enough heads that every thread has the same number; one each where there is little time.
std::int64_t heads_for_all_threads(double seconds) {
  constexpr double kTimeForMore = 4;        // for one width
  constexpr std::int64_t kHeadsOfGpu = 32;  // a thousand blocks of queries for some hundred places
  if (attention::has_own_memory(attention::opening_device())) {
    return kHeadsOfGpu;
  }
  const std::int64_t threads = at::get_num_threads();
  return threads * (seconds < kTimeForMore ? 1 : std::max<std::int64_t>(1, 4 / threads));
}

/// Forward and forward with backward of one pattern, as two of the works that are timed in turns.
class Probe {
 public:
  Probe(pattern::Pattern pattern, std::int64_t length, std::int64_t heads, std::int64_t head_dim, at::ScalarType dtype)
      : case_{std::move(pattern)} {
    case_.length = length;
    case_.heads = heads;
    case_.head_dim = head_dim;
    case_.dtype = dtype;
    bench_ = std::make_unique<AttentionBench>(case_, true);
  }

  inspect::LayoutWork work() const { return inspect::layout_work(bench_->layout().blocks(), case_.head_dim); }
  double heads() const { return static_cast<double>(case_.heads); }
  AttentionBench& bench() { return *bench_; }

 private:
  AttentionCase case_;
  std::unique_ptr<AttentionBench> bench_;
};

/// The calls of calibrate.h at one element type and width, in the order of TimedCalls; then dense attention.
class AttentionProbes {
 public:
  AttentionProbes(std::int64_t heads, std::int64_t head_dim, at::ScalarType dtype) {
    const auto parse = [](const char* expression) { return pattern::Pattern::parse(expression); };
    probes_.reserve(kProbes);
    probes_.emplace_back(parse("block(64, window(1))"), kLongRows, heads, head_dim, dtype);
    probes_.emplace_back(parse("full"), kLength, heads, head_dim, dtype);
    probes_.emplace_back(parse("stride(2)"), kLength, heads, head_dim, dtype);
    probes_.emplace_back(parse("summary(64, 1)"), kLength, heads, head_dim, dtype);
    probes_.emplace_back(doubled_blocks(kLength / 2 / 64), kLength / 2, heads, head_dim, dtype);
    const std::int64_t blocks = 2 * inspect::packed_blocks(head_dim);
    probes_.emplace_back(scattered_blocks(blocks), blocks * 64, heads, head_dim, dtype);
    for (const std::int64_t length : kDenseLengths) {
      probes_.emplace_back(parse("full"), length, heads, head_dim, dtype);
    }
  }

  inspect::AttentionRates measure(double seconds) {
    std::vector<AttentionBench::Work> works;
    for (std::size_t probe = 0; probe < kSparse; ++probe) {
      works.push_back(probes_[probe].bench().forward());
      works.push_back(probes_[probe].bench().forward_backward());
    }
    for (std::size_t probe = kSparse; probe < kProbes; ++probe) {
      works.push_back(probes_[probe].bench().dense_forward());
      works.push_back(probes_[probe].bench().dense_forward_backward());
    }
    times_ = median_milliseconds(works, limits_of(seconds));
    return {kernel_rates(calls(Pass::kForward)), kernel_rates(calls(Pass::kBackward)),
            dense_rates(dense_times(Pass::kForward)), dense_rates(dense_times(Pass::kBackward))};
  }

 private:
  static constexpr std::size_t kSparse = 6;
  static constexpr std::size_t kProbes = 8;

  enum class Pass { kForward, kBackward };

  /// The backward pass is what forward and backward together take more than forward.
  double seconds_of(std::size_t probe, Pass pass) const {
    const double forward = times_[2 * probe] / 1e3;
    return pass == Pass::kForward ? forward : std::max(0.0, times_[2 * probe + 1] / 1e3 - forward);
  }

  TimedCalls calls(Pass pass) const {
    const auto timed = [&](std::size_t probe) { return TimedWork{probes_[probe].work(), seconds_of(probe, pass)}; };
    const inspect::LayoutWork scattered = probes_[kSparse - 1].work();
    const double refills = pass == Pass::kForward ? scattered.forward_refills : scattered.backward_refills;
    return {timed(0), timed(1), timed(2), timed(3), timed(4), timed(5), refills};
  }

  DenseTimes dense_times(Pass pass) const {
    return {probes_.front().heads(), static_cast<double>(kDenseLengths[0]), seconds_of(kSparse, pass),
            static_cast<double>(kDenseLengths[1]), seconds_of(kSparse + 1, pass)};
  }

  std::vector<Probe> probes_;
  std::vector<double> times_;
};

/// Linear and elementwise layers at the sizes of BERT-base and 2,048 tokens.
inspect::LayerRates measure_layers(at::ScalarType dtype, double seconds) {
  constexpr std::int64_t kWidth = 768;
  constexpr std::int64_t kInner = 3072;
  const auto random = [&](std::initializer_list<std::int64_t> sizes) {
    return at::randn(sizes, at::kFloat).to(attention::opening_device(), dtype).set_requires_grad(true);
  };
  const at::Tensor state = random({kLength, kWidth});
  const at::Tensor inner = random({kLength, kInner});
  const at::Tensor up = random({kInner, kWidth});
  const at::Tensor down = random({kWidth, kInner});
  const auto product = [&] { return layers::apply_linear(layers::apply_linear(state, up, {}), down, {}); };
  const std::vector<double> times =
      median_milliseconds({[&] {
                             const at::NoGradGuard no_gradient;
                             product();
                           },
                           [&] { torch::autograd::grad({product()}, {state, up, down}, {state.detach()}); },
                           [&] {
                             const at::NoGradGuard no_gradient;
                             at::add(state, at::layer_norm(state, {kWidth}));
                             at::gelu(inner);
                           }},
                          limits_of(seconds));
  const double flops = 2.0 * 2 * kLength * kWidth * kInner;
  const double numbers = static_cast<double>(kLength) * (5.0 * kWidth + 2.0 * kInner);  // norm 2, sum 3, activation 2
  const double bytes = numbers * static_cast<double>(at::elementSize(dtype));
  return {dtype == at::kFloat ? "float32" : "bfloat16", flops / (times[0] / 1e3),
          2 * flops / (std::max(times[1] - times[0], 1e-3) / 1e3), bytes / (times[2] / 1e3)};
}

/// Seconds that AdamW takes for each of eight million parameters.
double measure_update(double seconds) {
  const c10::Device device = attention::opening_device();
  const at::Tensor parameter = at::randn({2048, 4096}).to(device).set_requires_grad(true);
  parameter.mutable_grad() = at::randn({2048, 4096}).to(device);
  training::AdamW optimiser({{.parameters = {{"weight", parameter}}}}, {});
  const std::vector<double> times = median_milliseconds({[&] { optimiser.step(1e-3); }}, limits_of(seconds));
  return times[0] / 1e3 / static_cast<double>(parameter.numel());
}

}  // namespace

inspect::MachineRates calibrate(double seconds) {
  inspect::MachineRates rates;
  ProgressBar progress("calibrating", seconds);
  const auto start = std::chrono::steady_clock::now();
  const auto note = [&](const std::string& next) {
    progress.update(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), next);
  };
  const std::vector<std::int64_t> widths = widths_for(seconds);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const std::string name = dtype == at::kFloat ? "float32" : "bfloat16";
    for (const std::int64_t width : widths) {
      note(concat("attention, ", name, ", heads of ", width));
      const double share = seconds * kAttentionShare / static_cast<double>(2 * widths.size());
      AttentionProbes probes(heads_for_all_threads(share), width, dtype);
      rates.attention.push_back({name, width, probes.measure(share)});
    }
    note("layers, " + name);
    rates.layers.push_back(measure_layers(dtype, seconds * (1 - kAttentionShare) / 3));
  }
  note("optimiser");
  rates.update_seconds = measure_update(seconds * (1 - kAttentionShare) / 3);
  return rates;
}

namespace {

struct Equation {
  double first;
  double second;
  double sum;
};

struct Solution {
  double first;
  double second;
};

/// Both equations, unless that takes a negative number: then that one is zero, and the other one meets the equation
/// with more of it.
Solution solve(const Equation& a, const Equation& b) {
  const double determinant = a.first * b.second - a.second * b.first;
  const double first = (a.sum * b.second - a.second * b.sum) / determinant;
  const double second = (a.first * b.sum - a.sum * b.first) / determinant;
  if (first < 0) {
    const Equation& better = a.second > b.second ? a : b;
    return {0, better.sum / better.second};
  }
  if (second < 0) {
    const Equation& better = a.first > b.first ? a : b;
    return {better.sum / better.first, 0};
  }
  return {first, second};
}

}  // namespace

inspect::KernelRates kernel_rates(const TimedCalls& calls) {
  inspect::KernelRates rates;
  const auto row_equation = [](const TimedWork& call) {
    return Equation{call.work.query_blocks, call.work.full_keys, call.seconds};
  };
  const Solution full = solve(row_equation(calls.rows), row_equation(calls.full));
  rates.row_seconds = full.first;
  rates.key_seconds = full.second;
  const auto without_rows = [&](const TimedWork& call) {
    return std::max(0.0, call.seconds - call.work.query_blocks * rates.row_seconds);
  };
  const auto block_equation = [&](const TimedWork& call) {
    return Equation{call.work.partial_blocks, call.work.masked_keys, without_rows(call)};
  };
  const Solution masked = solve(block_equation(calls.narrow), block_equation(calls.masked));
  rates.masked_seconds = masked.first;
  rates.masked_key_seconds = masked.second;
  const double keys = calls.weighted.work.masked_keys * rates.masked_key_seconds;
  rates.weighted_seconds = std::max(0.0, without_rows(calls.weighted) - keys) / calls.weighted.work.weighted_blocks;
  const double scattered = without_rows(calls.scattered) - calls.scattered.work.full_keys * rates.key_seconds;
  rates.refill_seconds = std::max(0.0, scattered) / calls.refills;
  return rates;
}

inspect::DenseRates dense_rates(const DenseTimes& times) {
  const auto equation = [&](double length, double seconds) {
    return Equation{times.heads * length, times.heads * length * length, seconds};
  };
  const Solution found =
      solve(equation(times.short_length, times.short_seconds), equation(times.long_length, times.long_seconds));
  return {found.first, found.second};
}

}  // namespace weft::bench
