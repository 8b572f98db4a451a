// SPDX-License-Identifier: Apache-2.0
// What the three additions to a score cost beside the plain kernel: a distance table, a product with distances, row
// positions. One thread, float32, best of many runs, forwards and backwards; a causal band of nine blocks of 64 keys in
// each row of blocks.
//
//     bench_hooks [LENGTH 4096] [RUNS 25]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <string_view>
#include <vector>

#include "kernels/kernel_case.h"
#include "weft/core/number.h"

namespace {

using weft::test::Float32Case;

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kSpan = 1024;

struct Hook {
  std::string_view name;
  std::function<void(Float32Case&)> add;
};

std::vector<std::int32_t> drawn_positions(std::int64_t length, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<std::int32_t> positions(static_cast<std::size_t>(kHeads * length));
  for (std::int32_t& position : positions) {
    position = static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(length));
  }
  return positions;
}

void add_positions(Float32Case& call, bool not_self) {
  call.query_positions = call.key_positions = drawn_positions(call.shape.query_length, 1);
  call.causal = true;
  call.not_self = not_self;
}

void add_table(Float32Case& call, bool learned) {
  call.distances.assign(static_cast<std::size_t>(kHeads * kSpan), 0.1F);
  call.distance_rows = 1;
  call.asks_distance_gradient = learned;
}

void add_relative(Float32Case& call, bool learned) {
  call.draw_relative(5);
  call.relative_zero = 0;
  call.relative_span = kSpan;
  call.relative_rows.assign(static_cast<std::size_t>(kHeads * kSpan * kWidth), 0.01F);
  call.asks_distance_gradient = learned;
}

std::vector<Hook> hooks() {
  return {{"plain", [](Float32Case&) {}},
          {"row positions, causal", [](Float32Case& call) { add_positions(call, false); }},
          {"row positions, causal, not self", [](Float32Case& call) { add_positions(call, true); }},
          {"distance table, fixed", [](Float32Case& call) { add_table(call, false); }},
          {"distance table, learned", [](Float32Case& call) { add_table(call, true); }},
          {"relative product, fixed rows", [](Float32Case& call) { add_relative(call, false); }},
          {"relative product, learned rows", [](Float32Case& call) { add_relative(call, true); }}};
}

/// Milliseconds of the fastest of `runs` runs.
double fastest(int runs, const std::function<void()>& work) {
  double best = 1e30;
  for (int run = 0; run < runs; ++run) {
    const auto begun = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> given(argv + 1, argv + argc);
  const std::int64_t length = given.empty() ? 4096 : weft::integer_of(given[0]).value_or(0);
  const auto runs = static_cast<int>(given.size() < 2 ? 25 : weft::integer_of(given[1]).value_or(0));
  if (length < 1 || runs < 1) {
    std::cerr << "bench_hooks: LENGTH and RUNS are whole numbers of at least 1\n";
    return 2;
  }
  const auto band = [](std::int64_t, std::int64_t query, std::int64_t key) {
    return key / 64 <= query / 64 && query / 64 - key / 64 <= 8 ? 1 : 0;
  };
  double forward_plain = 0;
  double backward_plain = 0;
  for (const Hook& hook : hooks()) {
    Float32Case call({1, kHeads, kHeads, length, length, kWidth, kWidth, {64, 64}}, band, 1,
                     weft::kernels::DType::kFloat32);
    call.isa = weft::kernels::chosen_isa();
    call.scale = 0.125;
    hook.add(call);
    const double forward = fastest(runs, [&] { call.forward(); });
    const double backward = fastest(runs, [&] { call.backward(); });
    if (forward_plain == 0) {
      forward_plain = forward;
      backward_plain = backward;
      std::cout << weft::kernels::to_string(call.isa) << ", " << length << " rows, " << kHeads << " heads of " << kWidth
                << '\n';
    }
    std::cout << hook.name << ": forward " << forward << " ms, " << forward / forward_plain << " of plain; backward "
              << backward << " ms, " << backward / backward_plain << " of plain\n";
  }
}
