// SPDX-License-Identifier: Apache-2.0
// What it costs to profile a model: a forward pass with and without the sums of its attention, in turns, for a layer's
// width and heads like BERT-base. One line a pattern, best of RUNS; float32.
//
//     bench_profile [LENGTH 4096] [LAYERS 2] [RUNS 5] [THREADS 1]
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "weft/core/number.h"
#include "weft/layers/attention/watched.h"
#include "weft/models/language_model.h"
#include "weft/tasks/profile/model_profile.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(weft::models::LanguageModel& model, const weft::models::ModelInput& input) {
  const Clock::time_point begin = Clock::now();
  model->hidden_states(input);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void measure(const std::string& attention, std::int64_t length, std::int64_t layers, std::int64_t runs) {
  weft::models::TransformerConfig config;
  config.hidden_size = 768;
  config.num_attention_heads = 12;
  config.intermediate_size = 3072;
  config.num_hidden_layers = layers;
  config.max_position_embeddings = length;
  config.position_embedding = attention == "relative" ? "none" : "rotary";
  config.attention = {attention};
  weft::models::LanguageModel model(config);
  model->eval();
  weft::models::ModelInput input;
  input.input_ids = at::randint(256, {1, length}, at::TensorOptions().dtype(at::kLong));
  weft::tasks::ModelProfile sums(*model, {});
  double plain = std::numeric_limits<double>::infinity();
  double watched = plain;
  for (std::int64_t run = 0; run <= runs; ++run) {  // the first fills caches
    plain = std::min(plain, run > 0 ? seconds_of(model, input) : plain);
    const weft::layers::WatchScope watch(*model, sums);
    watched = std::min(watched, run > 0 ? seconds_of(model, input) : watched);
  }
  std::cout << std::left << std::setw(32) << attention << std::fixed << std::setprecision(3) << plain << " s  "
            << watched << " s  " << std::setprecision(2) << watched / plain << " times\n";
}

std::int64_t argument(int count, char** values, int index, std::int64_t otherwise) {
  return index < count ? weft::integer_of(values[index]).value_or(otherwise) : otherwise;
}

}  // namespace

int main(int count, char** values) {
  const at::NoGradGuard without_gradients;
  const std::int64_t length = argument(count, values, 1, 4096);
  const std::int64_t layers = argument(count, values, 2, 2);
  const std::int64_t runs = argument(count, values, 3, 5);
  at::set_num_threads(static_cast<int>(argument(count, values, 4, 1)));
  for (const char* attention :
       {"full", "window(left=256)", "relative", "block(64, global(1) | window(3) | random(3))"}) {
    measure(attention, length, layers, runs);
  }
  return 0;
}
