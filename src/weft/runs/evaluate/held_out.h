// SPDX-License-Identifier: Apache-2.0
// The loss of a model on a held-out text with its own attention and with another, side by side.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"

namespace weft::runs {

/// What is compared.
struct HeldOutComparison {
  std::filesystem::path model;                                               ///< directory of a decoder or encoder
  std::vector<std::string> attention;                                        ///< the other: an expression a layer
  std::vector<std::string> text;                                             ///< files and folders
  std::int64_t context = 0;                                                  ///< tokens at once
  std::int64_t max_bytes = 0;                                                ///< 0: all
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< of each model, in tokens; it may throw
};

/// {"own", "proposed"}: nats a token (of an encoder, a masked one); "change": the share by which the loss rises;
/// "context"; "dtype" of products, see training::dtype_of_model("run"). Files that the expressions name lie below the
/// model's directory. Errors: kUnsupported for an encoder-decoder and for an encoder that has not learned to fill in
/// masks; those of the evaluation, as for a context that the model cannot have.
formats::Json compare_held_out(const HeldOutComparison& comparison);

}  // namespace weft::runs
