// SPDX-License-Identifier: Apache-2.0
// `weft bench calibrate`: measures this machine once, so that `weft pattern cost` and `weft pattern stats` can say how
// long a pattern takes on it.
#include <array>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/bench/calibrate.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/bench/calibration_file.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/threads.h"
#include "weft/core/error.h"

namespace weft::cli {
namespace {

constexpr const char* kCalibrateExamples =
    "  weft bench calibrate\n"
    "  weft bench calibrate --threads 8 --out eight-threads.json\n"
    "  weft bench calibrate --device cuda   (beside what the file has of the CPU)\n"
    "  weft pattern cost bigbird --length 4096 --rates eight-threads.json";

struct CalibrateConfig {
  double seconds = 60;
  std::string out;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = CalibrateConfig;
    visit(Field{"seconds", &C::seconds,
                "about how long to measure; longer is more precise, below 15 only heads of 64 are measured; 0 times "
                "each call once"}
              .range(0, 3600));
    visit(Field{"out", &C::out,
                "file to write; else machine.json in the directory WEFT_CACHE, or weft/machine.json in XDG_CACHE_HOME "
                "or ~/.cache"});
  }
};

struct CalibrateOptions {
  formats::Json given = formats::Json::object();
  MachineFlags machine;
  bool json = false;
};

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string gigaflops(double flops) { return fixed(flops / 1e9, 0) + " GFLOP/s"; }

/// FLOP/s of `products` matrix products over pairs of one query and one key.
std::string pair_rate(double products, std::int64_t head_dim, double pair_seconds) {
  return pair_seconds > 0 ? gigaflops(products * 2 * static_cast<double>(head_dim) / pair_seconds) : "not measurable";
}

std::string calibration_table(const Calibration& calibration) {
  Rows rows = {
      {"processor", calibration.machine.processor},
      {"kernels", calibration.machine.isa == kGpuIsa
                      ? calibration.machine.isa
                      : concat(calibration.machine.isa, ", ", counted(calibration.machine.threads, "thread"))}};
  for (const inspect::LayerRates& each : calibration.rates.layers) {
    rows.emplace_back(each.dtype + " layers",
                      concat(gigaflops(each.product_flops), ", backwards ", gigaflops(each.product_backward_flops),
                             "; ", fixed(each.bandwidth / 1e9, 1), " GB/s between products"));
  }
  for (const inspect::MeasuredAttention& each : calibration.rates.attention) {
    constexpr double kPanel = 32;  // queries that a key counts for
    const inspect::AttentionRates& rates = each.rates;
    rows.emplace_back(concat(each.dtype, " heads of ", each.head_dim),
                      concat(pair_rate(2, each.head_dim, rates.forward.key_seconds / kPanel), ", backwards ",
                             pair_rate(5, each.head_dim, rates.backward.key_seconds / kPanel), "; full attention ",
                             pair_rate(2, each.head_dim, rates.dense_forward.pair_seconds), ", backwards ",
                             pair_rate(5, each.head_dim, rates.dense_backward.pair_seconds)));
  }
  rows.emplace_back("optimiser",
                    concat(fixed(1e-6 / calibration.rates.update_seconds, 0), " million parameters a second"));
  return name_table(rows);
}

std::filesystem::path destination(const std::string& out) {
  const auto path = out.empty() ? calibration_path() : std::optional<std::filesystem::path>(out);
  if (!path) {
    throw UsageError("none of WEFT_CACHE, XDG_CACHE_HOME and HOME is set",
                     "say where to write: weft bench calibrate --out FILE");
  }
  return *path;
}

void run_calibrate(const CalibrateOptions& options) {
  CalibrateConfig config;
  formats::update_from_json(config, options.given, "weft bench calibrate");
  if (options.machine.tf32) {
    throw UsageError("--tf32: costs are predicted for exact products of float32, so these are what is measured",
                     "leave it out");
  }
  const std::filesystem::path path = destination(config.out);
  apply_machine(options.machine);
  const Machine machine = this_machine(0, options.machine.device);
  const Calibration calibration{machine, utc_now(), bench::calibrate(config.seconds)};
  write_calibration(path, calibration);
  if (options.json) {
    formats::Json json = calibration_json(calibration);
    json["path"] = path.string();
    print_json(json);
  } else {
    std::cout << calibration_table(calibration) << "written to " << path.string() << '\n';
  }
}

}  // namespace

void add_bench_calibrate(CLI::App& parent) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App& app = add_command(
      parent, "calibrate", "measure this machine, so that `weft pattern cost` can predict seconds", kCalibrateExamples);
  add_fields<CalibrateConfig>(app, {.title = "Options"}, options->given);
  add_machine_flags(app, options->machine);
  add_json_flag(app, options->json);
  app.callback([options] { run_calibrate(*options); });
}

}  // namespace weft::cli
