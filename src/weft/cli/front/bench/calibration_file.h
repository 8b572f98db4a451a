// SPDX-License-Identifier: Apache-2.0
// The file that calibrations leave behind: what was measured on the CPU and on each GPU, and the machine that it is
// true of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/inspect/cost/machine_rates.h"

namespace weft::cli {

/// What rates depend on: with any of it changed they are another machine's.
struct Machine {
  std::string processor;
  std::string isa;
  std::int64_t threads = 0;
  std::string version;  ///< of Weft

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = Machine;
    visit(Field{"processor", &C::processor, "its name and what it can do"});
    visit(Field{"isa", &C::isa, "instruction set of the kernels"});
    visit(Field{"threads", &C::threads, "at work"}.range(1, 4096));
    visit(Field{"version", &C::version, "of Weft"});
  }
};

/// The instruction set of a GPU.
inline constexpr const char* kGpuIsa = "cuda";

/// This machine at so many threads, 0 for LibTorch's present number; where `device` is not "cpu", its GPU of that name,
/// whose threads are not counted. Errors: those of a WEFT_ISA that cannot be, and of TensorPart::describe_device.
Machine this_machine(std::int64_t threads = 0, const std::string& device = "cpu");

struct Calibration {
  Machine machine;
  std::string date;  ///< UTC, "2026-11-21T14:03:00Z"
  inspect::MachineRates rates;
};

formats::Json calibration_json(const Calibration& calibration);

/// Errors: kFormat and kArgument that name `where` and the field; kArgument for a measurement that is missing.
Calibration calibration_from_json(const formats::Json& json, const std::string& where);

/// machine.json in weft::cache_directory(); nothing where there is no such directory.
std::optional<std::filesystem::path> calibration_path();

/// Writes the file atomically, and the folders above it where they are missing. What the file has of other devices
/// stays: a calibration of a GPU is a member of "gpus", that of the CPU is the file itself. Errors: kIo.
void write_calibration(const std::filesystem::path& path, const Calibration& calibration);

/// The rates of this machine at so many threads, or of its GPU, as this_machine() has it: from `given`, or where that
/// is empty from calibration_path(). Errors: a given file that cannot be read, or is of another machine (kArgument
/// naming what differs). Where no file is given, such a file is a warning and gives nothing, as does none at all.
std::optional<inspect::MachineRates> find_rates(const std::string& given, std::int64_t threads,
                                                const std::string& device = "cpu");

}  // namespace weft::cli
