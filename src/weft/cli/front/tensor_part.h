// SPDX-License-Identifier: Apache-2.0
// The part of the command line that computes with tensors. It is in libweft, which brings LibTorch, and is opened when
// a command first needs it: loading LibTorch takes 0.27 s of processor time, which `weft --help` and `weft pattern
// show` save.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <CLI/App.hpp>

namespace weft::cli {

/// What libweft offers to the program.
struct TensorPart {
  /// Adds the flags and the callback of the command `name` to `parent`; false where there is no such command.
  bool (*add)(CLI::App& parent, std::string_view name);
  /// Sets LibTorch's number of threads unless `threads` is 0; returns how many there are.
  std::int64_t (*use_threads)(std::int64_t threads);
  /// Models are opened on the device `name` from then on, whose products of float32 are TF32 where `tf32` says so.
  /// Errors: UsageError for a name that is none, and for TF32 without a GPU; kUnsupported where the device cannot
  /// compute here.
  void (*use_device)(const std::string& name, bool tf32);
  /// "NVIDIA H100 80GB HBM3, compute capability 9.0", as the driver says it; LibTorch's CUDA half stays closed. Errors:
  /// UsageError for a name that is no device; kUnsupported where the driver has no such GPU.
  std::string (*describe_device)(const std::string& name);
};

/// The part, opened with the first call. Errors: kUnsupported when libweft, or the LibTorch that it needs, cannot be
/// opened.
const TensorPart& tensor_part();

/// What libweft was compiled for: "LibTorch 2.11.0". Opens nothing.
std::string_view compiled_for() noexcept;

}  // namespace weft::cli

/// The one symbol of libweft that is looked up by its name.
extern "C" const weft::cli::TensorPart* weft_tensor_part();
