// SPDX-License-Identifier: Apache-2.0
// `weft generate` with a model of pictures: the first rows of a picture stay, the model writes the others, and the
// result is a PNG.
#pragma once

#include <cstdint>
#include <string>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/generation/settings_flags.h"

namespace weft::cli {

/// What the command line gave.
struct PictureOptions {
  std::string image;            ///< to complete; empty where no row is kept
  std::int64_t keep_rows = -1;  ///< from the top; -1: half of them
  std::string output;
  bool json = false;

  /// Whether a picture is asked for.
  bool given() const { return !image.empty() || keep_rows >= 0; }
};

/// Throws UsageError where the flags do not say what to do, before anything is read.
void check_picture_options(const PictureOptions& options, const GenerationFlags& settings);

/// Completes the picture with the model of `directory` and writes options.output atomically. Errors: kUnsupported for
/// a model of text; kArgument for a picture of another shape than the model's; kInterrupted, and nothing is written.
void complete_picture(const PictureOptions& options, const checkpoint::OpenedModel& directory,
                      generation::GenerationConfig config);

}  // namespace weft::cli
