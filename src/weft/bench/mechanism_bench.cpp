// SPDX-License-Identifier: Apache-2.0
// One module a length, and its inputs.
#include "weft/bench/mechanism_bench.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "weft/attention/devices/device.h"
#include "weft/attention/mechanism.h"
#include "weft/bench/counted_memory.h"
#include "weft/bench/timing.h"
#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/core/text/number_text.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kStateTokens = 1024;
constexpr std::int64_t kTokensPerGlobal = 32;  // about a sentence

attention::MechanismSite site_for(const MechanismCalls& calls, std::int64_t length) {
  attention::MechanismSite site;
  site.heads = calls.heads;
  site.head_dim = calls.head_dim;
  site.maximum_length = length;
  site.causal = calls.causal;
  return site;
}

/// The companions of a text of so many tokens, where the mechanism attends to some.
std::int64_t companions_of(const attention::MechanismSpec& spec, std::int64_t length) {
  return spec.companions ? std::max(std::int64_t{1}, length / kTokensPerGlobal) : 0;
}

/// Query, key and value [batch, heads, length, head_dim] ~ N(0, 1), the same in every run; keys and values have
/// `latents` rows more.
std::vector<at::Tensor> inputs_for(const MechanismCalls& calls, std::int64_t length, std::int64_t latents = 0) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  std::vector<at::Tensor> inputs;
  inputs.reserve(3);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t rows = i == 0 ? length : length + latents;
    inputs.push_back(at::randn({calls.batch, calls.heads, rows, calls.head_dim}, generator)
                         .to(attention::opening_device(), calls.dtype));
  }
  return inputs;
}

std::shared_ptr<attention::AttentionImpl> module_for(const std::string& expression, const MechanismCalls& calls,
                                                     std::int64_t length) {
  auto module = attention::make_attention(expression, site_for(calls, length), at::TensorOptions(calls.dtype));
  module->to(attention::opening_device());
  module->eval();
  return module;
}

/// Memory in a call that nobody times, then the median of at least one more: long calls are not made ten times.
std::pair<double, std::int64_t> measured(const std::function<void()>& work, const MechanismCalls& calls) {
  const std::int64_t bytes = most_bytes_of(work);
  const TimingLimits limits{.least_rounds = 1, .most_rounds = 10, .seconds = std::min(1.0, calls.most_seconds)};
  return {median_milliseconds({work}, limits).front(), bytes};
}

MechanismTimes measure_length(const std::string& expression, const MechanismCalls& calls, std::int64_t length) {
  const auto module = module_for(expression, calls, length);
  attention::AttentionContext context;
  context.companions = companions_of(module->spec(), length);
  std::vector<at::Tensor> inputs = inputs_for(calls, length + context.companions, module->spec().latents);
  const auto call = [&] { return module->forward(inputs[0], inputs[1], inputs[2], context); };
  MechanismTimes times;
  times.length = length;
  std::tie(times.forward_ms, times.forward_bytes) = measured(
      [&] {
        const at::NoGradGuard no_gradient;
        call();
      },
      calls);
  if (calls.backward) {
    for (at::Tensor& input : inputs) {
      input.requires_grad_();
    }
    const auto both = measured(
        [&] {
          // `lsh` reads its keys alone.
          torch::autograd::grad({call().sum()}, inputs, {}, std::nullopt, false, /*allow_unused=*/true);
        },
        calls);
    times.forward_backward_ms = both.first;
    times.forward_backward_bytes = both.second;
  }
  return times;
}

/// How a quantity is expected to go on: as it grew between the last two lengths, at least in proportion to the length.
double expected(double last, double before, double growth) {
  return last * (before > 0 ? std::max(growth, last / before) : growth * growth);
}

/// Why the next call is not made; empty where it is.
std::string reason_to_skip(const std::vector<MechanismTimes>& times, std::int64_t length, const MechanismCalls& calls) {
  if (times.empty()) {
    return {};
  }
  const MechanismTimes& last = times.back();
  const MechanismTimes none;
  const MechanismTimes& before = times.size() > 1 ? times[times.size() - 2] : none;
  const double growth = static_cast<double>(length) / static_cast<double>(last.length);
  const auto of = [](auto whole, auto part) {
    return [whole, part](const MechanismTimes& t) { return static_cast<double>((t.*whole).value_or(t.*part)); };
  };
  const auto time = of(&MechanismTimes::forward_backward_ms, &MechanismTimes::forward_ms);
  const auto bytes = of(&MechanismTimes::forward_backward_bytes, &MechanismTimes::forward_bytes);
  const double seconds = expected(time(last), time(before), growth) / 1e3;
  if (seconds > calls.most_seconds) {
    return concat("a call would take about ", duration(seconds), ", ", option("seconds"), " is ",
                  fixed(calls.most_seconds, 1));
  }
  const double needed = expected(bytes(last), bytes(before), growth);
  if (needed > static_cast<double>(calls.most_bytes)) {
    return concat("a call would need about ", with_unit(needed, "B"), ", ", option("memory"), " is ",
                  with_unit(static_cast<double>(calls.most_bytes), "B"));
  }
  return {};
}

/// Adds the times of each length to `report`, or why the calls from a length on are left out.
void measure_lengths(const std::string& expression, const MechanismCalls& calls, MechanismReport& report) {
  for (const std::int64_t length : calls.lengths) {
    report.skipped_why = reason_to_skip(report.times, length, calls);
    if (!report.skipped_why.empty()) {
      report.skipped_from = length;
      return;
    }
    report.times.push_back(measure_length(expression, calls, length));
  }
}

std::optional<std::int64_t> state_bytes_of(const std::string& expression, const MechanismCalls& calls) {
  if (!calls.causal || !attention::parse_mechanism(expression).limits.incremental.empty()) {
    return std::nullopt;
  }
  const at::NoGradGuard no_gradient;
  MechanismCalls one = calls;
  one.batch = 1;
  const auto module = module_for(expression, one, kStateTokens);
  const std::vector<at::Tensor> inputs = inputs_for(one, kStateTokens);
  const auto state = module->initial_state();
  module->step(inputs[0], inputs[1], inputs[2], {}, *state);
  state->advance();
  return static_cast<std::int64_t>(state->bytes());
}

double time_of(const MechanismTimes& times) { return times.forward_backward_ms.value_or(times.forward_ms); }

double bytes_of(const MechanismTimes& times) {
  return static_cast<double>(times.forward_backward_bytes.value_or(times.forward_bytes));
}

/// The place of the first length from which on `report` needs less; as many as it has where there is none.
std::size_t less_from(const MechanismReport& report, const MechanismReport& baseline,
                      double (*needed)(const MechanismTimes&)) {
  std::size_t from = report.times.size();
  for (std::size_t i = report.times.size(); i-- > 0;) {
    const bool less = i >= baseline.times.size() || needed(report.times[i]) < needed(baseline.times[i]);
    if (!less) {
      break;
    }
    from = i;
  }
  return from;
}

std::optional<std::int64_t> length_at(const MechanismReport& report, std::size_t place) {
  return place < report.times.size() ? std::optional(report.times[place].length) : std::nullopt;
}

}  // namespace

MechanismReport measure_mechanism(const std::string& expression, const MechanismCalls& calls) {
  MechanismReport report;
  report.attention = attention::parse_mechanism(expression).description;
  try {
    report.attention =
        attention::at_site(attention::parse_mechanism(expression), site_for(calls, calls.lengths.back())).description;
    measure_lengths(expression, calls, report);
  } catch (const Error& error) {  // of the site, of the module, or of a call
    if (report.times.empty()) {
      report.refused = error.what();
      return report;
    }
    report.skipped_from = calls.lengths[report.times.size()];
    report.skipped_why = error.what();
  }
  report.state_bytes = state_bytes_of(expression, calls);
  return report;
}

std::optional<std::int64_t> faster_from(const MechanismReport& report, const MechanismReport& baseline) {
  return length_at(report, less_from(report, baseline, time_of));
}

std::optional<std::int64_t> smaller_from(const MechanismReport& report, const MechanismReport& baseline) {
  return length_at(report, less_from(report, baseline, bytes_of));
}

std::optional<std::int64_t> break_even(const MechanismReport& report, const MechanismReport& baseline) {
  const std::size_t at = less_from(report, baseline, time_of);
  if (at == 0 || at >= report.times.size() || at >= baseline.times.size()) {
    return length_at(report, at);
  }
  const auto ahead = [&](std::size_t place) {  // of the baseline, as a logarithm
    return std::log(time_of(report.times[place]) / time_of(baseline.times[place]));
  };
  const double shorter = std::log(static_cast<double>(report.times[at - 1].length));
  const double longer = std::log(static_cast<double>(report.times[at].length));
  const double share = ahead(at - 1) / (ahead(at - 1) - ahead(at));
  return std::llround(std::exp(shorter + share * (longer - shorter)));
}

}  // namespace weft::bench
