// SPDX-License-Identifier: Apache-2.0
// Causal attention by features, seconds and memory: Weft's beside the same sums as a plain program of LibTorch writes
// them without a loop, a product for each token and a prefix sum over all of them. Nothing is timed unless the outputs
// agree. Each run has a process of its own, whose peak of resident memory the operating system reports; the two take
// turns.
//
//   bench_features [--tokens 16384] [--heads 4] [--turns 3] [--threads 2] [--json]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/types.h>
#include <CLI/CLI.hpp>

#include "child.h"
#include "weft/attention/mechanism.h"
#include "weft/core/cpu.h"

namespace {

struct Options {
  std::int64_t tokens = 16384;
  std::int64_t heads = 4;
  std::int64_t width = 64;
  std::int64_t features = 256;
  int turns = 3;
  int threads = 2;
  bool json = false;
};

struct Call {
  at::Tensor query, key, value;  // [1, H, N, D]
};

Call drawn(const Options& options, bool with_gradients) {
  at::manual_seed(1);
  const auto one = [&] {
    return at::randn({1, options.heads, options.tokens, options.width}).requires_grad_(with_gradients);
  };
  return {one(), one(), one()};
}

std::shared_ptr<weft::attention::AttentionImpl> mechanism_of(const Options& options, const std::string& expression) {
  weft::attention::MechanismSite site;
  site.heads = options.heads;
  site.head_dim = options.width;
  site.maximum_length = options.tokens;
  site.causal = true;
  return weft::attention::make_attention(expression, site);
}

/// phi(x) of the plain program: elu(x) + 1, or Performer's positive features with the matrix of Weft's mechanism.
at::Tensor plain_features(const at::Tensor& x, const at::Tensor& projection) {
  if (!projection.defined()) {
    return at::elu(x) + 1;
  }
  const at::Tensor scaled = x / std::sqrt(std::sqrt(static_cast<double>(x.size(-1))));
  return (at::matmul(scaled, projection.t()) - scaled.square().sum(-1, true) / 2).exp();
}

at::Tensor plain(const Call& call, const at::Tensor& projection) {
  const at::Tensor query = plain_features(call.query, projection);
  const at::Tensor key = plain_features(call.key, projection);
  const at::Tensor sums = (key.unsqueeze(-1) * call.value.unsqueeze(-2)).cumsum(-3);  // [1, H, N, r, D]
  const at::Tensor above = at::matmul(query.unsqueeze(-2), sums).squeeze(-2);
  return above / ((query * key.cumsum(-2)).sum(-1, true) + 1e-6);
}

enum class Program { kNothing, kWeft, kPlain };

double run(const Options& options, const std::string& expression, Program program, bool backward) {
  at::set_num_threads(options.threads);
  const Call call = drawn(options, backward);
  const auto module = mechanism_of(options, expression);
  const auto parameters = module->named_parameters();
  const at::Tensor* projection = parameters.find("projection");
  const auto start = std::chrono::steady_clock::now();
  if (program != Program::kNothing) {
    const at::AutoGradMode gradients(backward);
    const at::Tensor output = program == Program::kWeft ? module->forward(call.query, call.key, call.value, {})
                                                        : plain(call, projection ? *projection : at::Tensor());
    if (backward) {
      output.sum().backward();
    }
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The largest difference of the two outputs, relative to the largest number.
double difference(const Options& options, const std::string& expression) {
  const at::NoGradGuard without_gradients;
  const Call call = drawn(options, false);
  const auto module = mechanism_of(options, expression);
  const auto parameters = module->named_parameters();
  const at::Tensor* projection = parameters.find("projection");
  const at::Tensor ours = module->forward(call.query, call.key, call.value, {});
  const at::Tensor theirs = plain(call, projection ? *projection : at::Tensor());
  return ((ours - theirs).abs().max() / theirs.abs().max()).item<double>();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One line: seconds and memory of both, in turns. False where a run did not finish.
bool compare(const Options& options, const std::string& expression, bool backward) {
  const auto measure = [&](Program program) {
    return weft::bench::in_child([&] { return run(options, expression, program, backward); });
  };
  const double start = measure(Program::kNothing).peak_gb;
  std::vector<double> ours;
  std::vector<double> theirs;
  double our_memory = 0;
  double their_memory = 0;
  for (int turn = 0; turn < options.turns; ++turn) {
    const weft::bench::ChildRun weft = measure(Program::kWeft);
    const weft::bench::ChildRun peer = measure(Program::kPlain);
    if (!weft.finished || !peer.finished) {
      std::fprintf(stderr, "features: %s did not finish\n", expression.c_str());
      return false;
    }
    ours.push_back(weft.number);
    theirs.push_back(peer.number);
    our_memory = weft.peak_gb - start;
    their_memory = peer.peak_gb - start;
  }
  const char* format = options.json
                           ? "{\"attention\": \"%s\", \"pass\": \"%s\", \"seconds\": %.4f, \"plain_seconds\": %.4f, "
                             "\"ratio\": %.2f, \"gb\": %.3f, \"plain_gb\": %.3f}\n"
                           : "%-36s %-8s %8.3f s %8.3f s %6.1f x %8.3f GB %8.3f GB\n";
  std::printf(format, expression.c_str(), backward ? "both" : "forward", median(ours), median(theirs),
              median(theirs) / median(ours), our_memory, their_memory);
  std::fflush(stdout);
  return true;
}

/// Both add up float32 in another order, over as many terms as there are tokens.
constexpr double kAllowed = 1e-3;

bool compare_all(const Options& options) {
  for (const std::string& expression :
       {std::string("linear"), "performer(features=" + std::to_string(options.features) + ", seed=1)"}) {
    const weft::bench::ChildRun checked = weft::bench::in_child([&] { return difference(options, expression); });
    if (!checked.finished || !(checked.number < kAllowed)) {
      std::fprintf(stderr, "features: the outputs of %s differ by %g of the largest number: nothing is timed\n",
                   expression.c_str(), checked.number);
      return false;
    }
    for (const bool backward : {false, true}) {
      if (!compare(options, expression, backward)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  CLI::App app("Causal attention by features beside a plain prefix sum");
  app.allow_extras();  // scripts/bench gives every program the flags of Google Benchmark
  app.add_option("--tokens", options.tokens);
  app.add_option("--heads", options.heads);
  app.add_option("--width", options.width, "columns of a head");
  app.add_option("--features", options.features, "of Performer");
  app.add_option("--turns", options.turns);
  app.add_option("--threads", options.threads);
  app.add_flag("--json", options.json);
  CLI11_PARSE(app, count, arguments);
  std::fprintf(stderr, "features: %ld tokens, %ld heads of %ld, float32, %d threads, %s; Weft first\n",
               static_cast<long>(options.tokens), static_cast<long>(options.heads), static_cast<long>(options.width),
               options.threads, weft::cpu_description().c_str());
  return compare_all(options) ? 0 : 1;
}
