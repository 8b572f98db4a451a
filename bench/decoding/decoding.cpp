// SPDX-License-Identifier: Apache-2.0
// Where the time of a decoded token goes: the layout of its one query row, and the attention of one layer over a cache
// of keys. Processor time of one thread, the median of several tokens, for each pattern and length.
//
//   bench_decoding [TOKENS [EXPRESSION...]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/types.h>

#include "weft/attention/attend.h"
#include "weft/core/cpu.h"

namespace {

constexpr std::int64_t kLengths[] = {1024, 4096, 16384, 65536};
constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kHeadDim = 64;

const std::vector<std::string> kExpressions = {"full",
                                               "window(512)",
                                               "strided(128)",
                                               "fixed(128, 8)",
                                               "bigbird",
                                               "random(64)",
                                               "heads(2 * window(64), 6 * window(512))"};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename Work>
double seconds_of(const Work& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

struct Times {
  double layout = 0;  // seconds
  double token = 0;   // with its layout
};

Times measure(const std::string& expression, std::int64_t length, std::int64_t tokens) {
  const weft::attention::MechanismSite site{
      .heads = kHeads, .head_dim = kHeadDim, .maximum_length = length + tokens, .causal = true};
  const weft::attention::Attend attend(expression, site);
  const weft::pattern::Pattern pattern = weft::pattern::Pattern::parse(attend.description());
  const at::Tensor key = at::randn({1, kHeads, length + tokens, kHeadDim});
  const at::Tensor value = at::randn_like(key);
  const at::Tensor query = at::randn({1, kHeads, 1, kHeadDim});
  std::vector<double> layouts;
  std::vector<double> calls;
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t keys = length + token;
    const weft::pattern::Site row{.query_length = 1,
                                  .key_length = keys,
                                  .query_offset = keys - 1,
                                  .heads = kHeads,
                                  .maximum_length = site.maximum_length};
    layouts.push_back(seconds_of([&] { weft::pattern::compile(pattern, row, {1, 64}); }));
    weft::attention::AttentionContext context;
    context.query_offset = keys - 1;
    calls.push_back(seconds_of([&] { attend(query, key.narrow(2, 0, keys), value.narrow(2, 0, keys), context); }));
  }
  return {median(layouts), median(calls)};
}

void print_row(const std::string& expression, std::int64_t tokens) {
  std::printf("| `%s` |", expression.c_str());
  for (const std::int64_t length : kLengths) {
    const Times times = measure(expression, length, tokens);
    std::printf(" %.0f, %.0f |", times.layout * 1e6, times.token * 1e6);
    std::fflush(stdout);
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** words) {
  const std::int64_t tokens = count > 1 ? std::strtoll(words[1], nullptr, 10) : 64;
  const std::vector<std::string> given(words + (count > 2 ? 2 : count), words + count);
  try {
    at::set_num_threads(1);
    const c10::InferenceMode inference;
    std::printf("%s\nmicroseconds of a token's layout, and of the whole call, %lld heads of %lld, one layer\n\n",
                weft::cpu_description().c_str(), static_cast<long long>(kHeads), static_cast<long long>(kHeadDim));
    std::printf("| pattern | 1,024 keys | 4,096 | 16,384 | 65,536 |\n|---|---|---|---|---|\n");
    for (const std::string& expression : given.empty() ? kExpressions : given) {
      print_row(expression, tokens);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "decoding: %s\n", error.what());
    return 1;
  }
  return 0;
}
