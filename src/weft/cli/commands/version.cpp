// SPDX-License-Identifier: Apache-2.0
// `weft version`: what is running, for bug reports.
#include <iostream>
#include <memory>

#include <torch/version.h>

#include "weft/attention/devices/cuda_driver.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/core/cpu.h"
#include "weft/core/version.h"

namespace weft::cli {
namespace {

formats::Json gpus_json(const attention::CudaDriver& driver) {
  formats::Json gpus = formats::Json::array();
  for (const attention::CudaDevice& device : driver.devices) {
    gpus.push_back({{"device", concat("cuda:", gpus.size())},
                    {"name", device.name},
                    {"compute_capability", concat(device.major, ".", device.minor)},
                    {"memory_bytes", device.total_bytes}});
  }
  return gpus;
}

// A row for each GPU, or one that says why there is none.
Rows gpu_rows(const attention::CudaDriver& driver) {
  constexpr double kGibibyte = 1 << 30;
  if (!driver.problem.empty()) {
    return {{"gpu", "none: " + driver.problem}};
  }
  Rows rows = {{"gpu driver", "for CUDA " + attention::cuda_version_text(driver.version)}};
  for (const attention::CudaDevice& device : driver.devices) {
    rows.emplace_back(concat("cuda:", rows.size() - 1),
                      concat(device.name, ", compute capability ", device.major, ".", device.minor, ", ",
                             fixed(static_cast<double>(device.total_bytes) / kGibibyte, 1), " GiB"));
  }
  return rows;
}

void print_version(bool json) {
  const attention::CudaDriver& driver = attention::cuda_driver();
  const std::string version(kVersion);
  if (json) {
    print_json({{"weft", version},
                {"libtorch", TORCH_VERSION},
                {"cpu", cpu_description()},
                {"fast_bfloat16", has_fast_bfloat16()},
                {"gpus", gpus_json(driver)}});
    return;
  }
  Rows rows = {{"weft", version},
               {"libtorch", TORCH_VERSION},
               {"cpu", cpu_description()},
               {"bfloat16", has_fast_bfloat16() ? "fast" : "emulated: products run in float32"}};
  const Rows gpus = gpu_rows(driver);
  rows.insert(rows.end(), gpus.begin(), gpus.end());
  std::cout << name_table(rows);
}

}  // namespace

void add_version(CLI::App& parent) {
  auto json = std::make_shared<bool>(false);
  CLI::App& app = add_command(parent, "version", "  weft version --json");
  add_json_flag(app, *json);
  app.callback([json] { print_version(*json); });
}

}  // namespace weft::cli
