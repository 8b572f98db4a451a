// SPDX-License-Identifier: Apache-2.0
// How far attention without the matrix is from the softmax that it stands for: the mean square of the difference from
// full attention, over that of full attention, by the number of random features or landmarks. Random queries, keys and
// values, several draws of both; the mean and the standard deviation over the draws.
//
//   bench_estimates [--tokens 4096] [--width 64] [--draws 5] [--scale 1] [--json]
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <c10/core/InferenceMode.h>
#include <torch/types.h>
#include <CLI/CLI.hpp>

#include "weft/attention/mechanism.h"

namespace {

struct Options {
  std::int64_t tokens = 4096;
  std::int64_t width = 64;
  std::int64_t smooth = 1;
  int draws = 5;
  double scale = 1.0;
  bool json = false;
};

at::Tensor output_of(const Options& options, const std::string& expression, const std::vector<at::Tensor>& call) {
  weft::attention::MechanismSite site;
  site.heads = call[0].size(1);
  site.head_dim = options.width;
  site.maximum_length = options.tokens;
  return weft::attention::make_attention(expression, site)->forward(call[0], call[1], call[2], {});
}

/// Normal numbers; with `smooth` s neighbours share (s - 1) / s of theirs, as tokens of one passage do.
at::Tensor drawn(const Options& options) {
  at::Tensor rows = at::randn({1, 2, options.tokens + options.smooth - 1, options.width});
  if (options.smooth > 1) {
    rows = rows.unfold(-2, options.smooth, 1).sum(-1) / std::sqrt(static_cast<double>(options.smooth));
  }
  return rows;
}

struct Error {
  double mean = 0.0;
  double deviation = 0.0;
};

Error error_of(const Options& options, const std::string& name, const std::string& settings) {
  std::vector<double> errors;
  for (int draw = 0; draw < options.draws; ++draw) {
    at::manual_seed(draw);
    const std::vector<at::Tensor> call = {drawn(options) * options.scale, drawn(options) * options.scale,
                                          drawn(options)};
    const std::string seed = name == "performer" ? ", seed=" + std::to_string(100 + draw) : std::string();
    const at::Tensor exact = output_of(options, "full", call);
    const at::Tensor estimate = output_of(options, name + "(" + settings + seed + ")", call);
    errors.push_back(((estimate - exact).square().mean() / exact.square().mean()).item<double>());
  }
  Error result;
  for (const double error : errors) {
    result.mean += error / options.draws;
  }
  for (const double error : errors) {
    result.deviation += std::pow(error - result.mean, 2) / std::max(1, options.draws - 1);
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

struct Row {
  const char* title;
  const char* name;
  const char* count;  // the setting that grows
  const char* rest;
};

constexpr Row kRows[] = {
    {"performer, positive, orthogonal", "performer", "features", ""},
    {"performer, positive, independent", "performer", "features", ", orthogonal=no"},
    {"performer, trigonometric, orthogonal", "performer", "features", ", map=trigonometric"},
    {"performer, trigonometric, independent", "performer", "features", ", map=trigonometric, orthogonal=no"},
    {"nystrom", "nystrom", "landmarks", ", conv=0"},
    {"nystrom, 12 iterations", "nystrom", "landmarks", ", conv=0, iterations=12"},
};

void print_row(const Options& options, const Row& row) {
  if (!options.json) {
    std::printf("%-40s", row.title);
  }
  for (std::int64_t count = 16; count <= 1024; count *= 2) {
    const Error error = error_of(options, row.name, std::string(row.count) + "=" + std::to_string(count) + row.rest);
    if (options.json) {
      std::printf("{\"attention\": \"%s\", \"%s\": %ld, \"error\": %.6g, \"deviation\": %.3g}\n", row.title, row.count,
                  static_cast<long>(count), error.mean, error.deviation);
    } else {
      std::printf(" %9.2g ± %-7.1g", error.mean, error.deviation);
    }
    std::fflush(stdout);
  }
  if (!options.json) {
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  CLI::App app("The error of features and landmarks beside full attention");
  app.allow_extras();  // scripts/bench gives every program the flags of Google Benchmark
  app.add_option("--tokens", options.tokens);
  app.add_option("--width", options.width, "columns of a head");
  app.add_option("--draws", options.draws);
  app.add_option("--scale", options.scale, "of queries and keys: their scores have the square of it as deviation");
  app.add_option("--smooth", options.smooth, "tokens over which queries, keys and values are averaged");
  app.add_flag("--json", options.json);
  CLI11_PARSE(app, count, arguments);
  const c10::InferenceMode inference;
  if (!options.json) {
    std::printf("%ld tokens, heads of %ld, %d draws, scale %g, smooth %ld; features or landmarks from 16 to 1024\n",
                static_cast<long>(options.tokens), static_cast<long>(options.width), options.draws, options.scale,
                static_cast<long>(options.smooth));
  }
  for (const Row& row : kRows) {
    print_row(options, row);
  }
  return 0;
}
