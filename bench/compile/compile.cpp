// SPDX-License-Identifier: Apache-2.0
// How much processor time and memory a layout of a million tokens takes to compile: each pattern in a process of its
// own, with tiles of 64 x 64.
//
//   bench_compile [LENGTH [EXPRESSION...]]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "child.h"
#include "weft/pattern/pattern.h"

namespace {

const std::vector<std::int64_t> kInput{0, 1000, 100000};

// The patterns that must compile in a second and 150 MB, and those whose blocks hold few edges each.
const std::vector<std::string> kExpressions = {
    "window(512)", "bigbird(block=64)",       "strided(1024)",         "longformer(512)",         "fixed(1024, 8)",
    "random(3)",   "window(512) | random(3)", "erdos_renyi(0.000003)", "watts_strogatz(16, 0.1)",
};

void compile_one(const std::string& expression, std::int64_t length) {
  weft::pattern::Site site;
  site.query_length = site.key_length = length;
  site.input = kInput;
  const weft::pattern::Pattern pattern = weft::pattern::Pattern::parse(expression);
  const weft::pattern::BlockLayout layout = compile(pattern, site, {64, 64});
  std::printf("| `%s` | %.0f | %lld | ", expression.c_str(), static_cast<double>(layout.bytes()) / 1e6,
              static_cast<long long>(layout.blocks()));
  std::fflush(stdout);
}

// False where it failed.
bool measure(const std::string& expression, std::int64_t length) {
  const weft::bench::ChildRun run = weft::bench::in_child([&] {
    compile_one(expression, length);
    return 0.0;
  });
  if (run.finished) {
    std::printf("%.2f | %.0f |\n", run.cpu_seconds, run.peak_gb * 1e3);
    std::fflush(stdout);
  }
  return run.finished;
}

}  // namespace

int main(int count, char** words) {
  const std::int64_t length = count > 1 ? std::strtoll(words[1], nullptr, 10) : 1 << 20;
  const std::vector<std::string> given(words + (count > 2 ? 2 : count), words + count);
  std::printf(
      "%lld tokens\n\n| pattern | layout, MB | blocks | seconds of CPU | peak memory, MB |\n|---|---|---|---|---|\n",
      static_cast<long long>(length));
  std::fflush(stdout);
  bool is_good = true;
  for (const std::string& expression : given.empty() ? kExpressions : given) {
    is_good = measure(expression, length) && is_good;
  }
  return is_good ? 0 : 1;
}
