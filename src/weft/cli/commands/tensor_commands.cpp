// SPDX-License-Identifier: Apache-2.0
// The door of libweft for the program.
#include "weft/cli/commands/tensor_commands.h"

#include <algorithm>

#include <ATen/Parallel.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/pattern/spans_command.h"
#include "weft/cli/front/tensor_part.h"

namespace weft::cli {
namespace {

bool add_tensor_command(CLI::App& parent, std::string_view name) {
  if (name == kSpansPart) {
    add_pattern_spans(parent);
    return true;
  }
  const auto* found = std::ranges::find(kTensorCommands, name, &TensorCommand::name);
  if (found == kTensorCommands.end()) {
    return false;
  }
  found->add(parent);
  return true;
}

std::int64_t use_threads(std::int64_t threads) {
  if (threads > 0) {
    at::set_num_threads(static_cast<int>(threads));
  }
  return at::get_num_threads();
}

// A name that is no device is a mistake of the command line.
template <typename Work>
auto with_usage_errors(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArgument) {
      throw;
    }
    throw UsageError(error.what(), error.hint());
  }
}

void use_device(const std::string& name, bool tf32) {
  with_usage_errors([&] { attention::open_models_on(attention::usable_device(name, tf32)); });
}

std::string describe_device(const std::string& name) {
  return with_usage_errors([&] {
    const c10::Device device = attention::parse_device(name);
    if (attention::has_own_memory(device)) {
      attention::check_driver(attention::cuda_driver(), device, 0);
    }
    return attention::device_description(device);
  });
}

constexpr TensorPart kTensorPart{add_tensor_command, use_threads, use_device, describe_device};

}  // namespace
}  // namespace weft::cli

const weft::cli::TensorPart* weft_tensor_part() { return &weft::cli::kTensorPart; }
