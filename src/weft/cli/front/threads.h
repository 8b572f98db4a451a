// SPDX-License-Identifier: Apache-2.0
// What a command computes with: how many threads, and which device.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/App.hpp>

namespace weft::cli {

/// Adds the flag --threads.
void add_threads_flag(CLI::App& app, std::int64_t& threads);

/// `threads`, or where that is 0 WEFT_THREADS, or 0 where neither says how many. Errors: UsageError when WEFT_THREADS
/// is no whole number from 1 to 4096.
std::int64_t asked_threads(std::int64_t threads);

/// Sets LibTorch's threads to `threads`, or where that is 0 to WEFT_THREADS, or leaves LibTorch's own choice; returns
/// how many there are. Errors: UsageError when WEFT_THREADS is no whole number from 1 to 4096.
std::int64_t apply_threads(std::int64_t threads);

/// The flags of a command that computes with tensors.
struct MachineFlags {
  std::int64_t threads = 0;
  std::string device = "cpu";
  bool tf32 = false;
};

/// Adds --threads, --device and --tf32.
void add_machine_flags(CLI::App& app, MachineFlags& flags);

/// apply_threads(), and models are opened on the device from then on. Call it before anything that takes long. Errors:
/// UsageError for a name that is no device, and for --tf32 without a GPU; kUnsupported, saying why, for a device that
/// cannot compute here.
void apply_machine(const MachineFlags& flags);

}  // namespace weft::cli
