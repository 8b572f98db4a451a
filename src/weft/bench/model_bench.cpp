// SPDX-License-Identifier: Apache-2.0
// What is run, what it must at least cost, and where the time went.
#include "weft/bench/model_bench.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>
#include <c10/core/InferenceMode.h>
#include <sys/resource.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/bench/timing.h"
#include "weft/layers/precision.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/training/precision.h"

namespace weft::bench {
namespace {

void infer(models::EncoderModel& model, const models::EncoderInput& input, const ModelCase& call) {
  const c10::InferenceMode no_graph;
  const at::Tensor hidden = model->hidden_states(input);
  if (call.fill_mask) {
    model->vocabulary_logits(hidden.narrow(1, 0, std::min(kMasks, call.length)).flatten(0, 1));
  }
}

void train_step(models::EncoderModel& model, const models::EncoderInput& input, const ModelCase& call) {
  const training::AutocastGuard autocast(call.dtype == at::kBFloat16 ? "bfloat16" : "float32");
  model->loss(input, {.labels = input.input_ids}).backward();
  model->zero_grad();
  // As if an optimiser had moved them: what is kept of a weight is made again in the next step.
  for (const at::Tensor& parameter : model->parameters()) {
    parameter.unsafeGetTensorImpl()->bump_version();
  }
}

// [inner, outer] of a layer's products, which count twice: one for the operations, one for the rate.
std::vector<std::pair<std::int64_t, std::int64_t>> layer_products(const models::EncoderConfig& config) {
  return models::encoder_rules(config).costs(config).products;
}

// What the timed operators of one thread add up to.
struct ProfileState {
  struct Open {
    std::chrono::steady_clock::time_point start;
    double inside = 0;  // seconds of the operators that it called
  };
  std::vector<Open> open;
  std::map<std::string, OperatorTime> times;
};
thread_local ProfileState* profile_state = nullptr;

std::unique_ptr<at::ObserverContext> enter_operator(const at::RecordFunction&) {
  if (profile_state != nullptr) {
    profile_state->open.push_back({std::chrono::steady_clock::now()});
  }
  return nullptr;
}

void leave_operator(const at::RecordFunction& function, at::ObserverContext*) {
  if (profile_state == nullptr || profile_state->open.empty()) {
    return;
  }
  attention::synchronise(attention::opening_device());
  const ProfileState::Open last = profile_state->open.back();
  profile_state->open.pop_back();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - last.start).count();
  if (!profile_state->open.empty()) {
    profile_state->open.back().inside += seconds;
  }
  OperatorTime& time = profile_state->times[function.name()];
  time.seconds += seconds - last.inside;
  ++time.calls;
}

}  // namespace

models::EncoderInput bench_input(const models::EncoderConfig& config, const ModelCase& call) {
  // Beyond the special tokens of every family, where the vocabulary is large enough for that.
  const std::int64_t first = config.vocab_size > 200 ? 110 : 0;
  models::EncoderInput input;
  input.input_ids = at::randint(first, config.vocab_size, {call.batch, call.length}, at::detail::createCPUGenerator(1),
                                at::TensorOptions().dtype(at::kLong));
  input.pair_places = at::full({call.batch, 2}, -1, at::kLong);  // one text a row
  if (call.train) {
    input.seed = 1;
  }
  return input;
}

double best_seconds(const std::function<void()>& work, std::int64_t repeats) {
  work();
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    best = std::min(best, milliseconds_of(work) / 1e3);
  }
  return best;
}

void run_case(models::EncoderModel& model, const models::EncoderInput& input, const ModelCase& call) {
  if (call.train) {
    train_step(model, input, call);
  } else {
    infer(model, input, call);
  }
}

double product_flops(const models::EncoderModelImpl& model, const ModelCase& call) {
  const models::EncoderConfig& config = model.config();
  const auto tokens = static_cast<double>(call.batch * call.length);
  double layer = 0;
  for (const auto& [inner, outer] : layer_products(config)) {
    layer += static_cast<double>(inner) * static_cast<double>(outer);
  }
  const auto width = static_cast<double>(config.hidden_size);
  const double head = width * width + width * static_cast<double>(config.vocab_size);
  const bool all_positions = call.train && model.head() == models::Head::kMaskedLanguageModel;
  const double scored = all_positions    ? tokens
                        : call.fill_mask ? static_cast<double>(call.batch * std::min(kMasks, call.length))
                                         : 0.0;
  const double forward = 2 * (tokens * layer * static_cast<double>(config.num_hidden_layers) + scored * head);
  return call.train ? 3 * forward : forward;
}

double product_rate(const models::EncoderConfig& config, const ModelCase& call) {
  const c10::InferenceMode no_graph;
  const std::int64_t rows = call.batch * call.length;
  double best = 0;
  for (const auto& [inner, outer] : layer_products(config)) {
    const at::Tensor left = at::randn({rows, inner}).to(attention::opening_device(), call.dtype);
    const at::Tensor right = at::randn({inner, outer}).to(attention::opening_device(), call.dtype);
    const double seconds = best_seconds([&] { layers::product(left, right, call.dtype); }, call.repeats);
    best = std::max(
        best, 2.0 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(outer) / seconds);
  }
  return best;
}

std::vector<OperatorTime> profile(const std::function<void()>& work) {
  ProfileState state;
  profile_state = &state;
  const at::CallbackHandle handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(enter_operator, leave_operator).scopes({at::RecordScope::FUNCTION}));
  try {
    work();
  } catch (...) {
    at::removeCallback(handle);
    profile_state = nullptr;
    throw;
  }
  at::removeCallback(handle);
  profile_state = nullptr;
  std::vector<OperatorTime> times;
  for (auto& [name, time] : state.times) {
    time.name = name;
    times.push_back(std::move(time));
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const OperatorTime& left, const OperatorTime& right) { return left.seconds > right.seconds; });
  return times;
}

double peak_gigabytes() {
  if (const c10::Device device = attention::opening_device(); attention::has_own_memory(device)) {
    return static_cast<double>(attention::device_peak(device)) / 1e9;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr double kKilobytesInGigabyte = 1e9 / 1024;
  return static_cast<double>(usage.ru_maxrss) / kKilobytesInGigabyte;
}

}  // namespace weft::bench
