// SPDX-License-Identifier: Apache-2.0
// A picture that a model of pictures completes: its first rows stay, the model writes the others, and the result is a
// PNG.
#pragma once

#include <cstdint>
#include <string>

#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/generation/settings/generation_config.h"

namespace weft::tasks {

struct PictureRequest {
  std::string image;            ///< to complete; empty where no row is kept
  std::int64_t keep_rows = -1;  ///< from the top; -1: half of them
  std::string output;

  /// Whether a picture is asked for.
  bool given() const { return !image.empty() || keep_rows >= 0; }
};

/// Errors: UsageError where the request does not say what to do, or where the settings of generation that were `given`
/// are for texts; before anything is read.
void check_picture_request(const PictureRequest& request, const formats::Json& given);

/// What a completed picture is made of.
struct CompletedPicture {
  std::int64_t rows_kept = 0;
  std::int64_t new_bytes = 0;
};

/// Completes the picture with the model of `directory`, loaded as `load` says, and writes request.output atomically.
/// Errors: kUnsupported for a model of text; kArgument for a picture of another shape than the model's; kInterrupted,
/// and nothing is written.
CompletedPicture complete_picture(const PictureRequest& request, const checkpoint::OpenedModel& directory,
                                  generation::GenerationConfig config, const checkpoint::LoadOptions& load = {});

}  // namespace weft::tasks
