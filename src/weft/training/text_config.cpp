// SPDX-License-Identifier: Apache-2.0
// Rules of a TextConfig, and what of it a resumed run may change.
#include "weft/training/text_config.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/training/resumption.h"
#include "weft/training/run/recorded_path.h"

namespace weft::training {

DataKind data_kind(const TextConfig& config) {
  if (!config.train_images.empty()) {
    return DataKind::kPictures;
  }
  return config.train_audio.empty() ? DataKind::kText : DataKind::kSound;
}

const std::vector<std::string>& training_paths(const TextConfig& config) {
  const DataKind kind = data_kind(config);
  return kind == DataKind::kText ? config.train_text
                                 : (kind == DataKind::kSound ? config.train_audio : config.train_images);
}

const std::vector<std::string>& held_out_paths(const TextConfig& config) {
  const DataKind kind = data_kind(config);
  return kind == DataKind::kText ? config.eval_text
                                 : (kind == DataKind::kSound ? config.eval_audio : config.eval_images);
}

std::string_view training_field(const TextConfig& config) {
  const DataKind kind = data_kind(config);
  return kind == DataKind::kText ? "train_text" : (kind == DataKind::kSound ? "train_audio" : "train_images");
}

void check_config(const TextConfig& config, std::string_view where) {
  check_fields(config, where);
  require(!training_paths(config).empty(), where,
          ": train_text must name a file or folder, or train_images pictures, or train_audio sound, found none");
  const auto belongs = [&](std::string_view field, const std::vector<std::string>& paths) {
    const bool fits = &paths == &training_paths(config) || &paths == &held_out_paths(config);
    require(paths.empty() || fits, where, ": ", field, " does not go together with ", training_field(config),
            ": a model learns text, pictures or sound");
  };
  belongs("train_text", config.train_text);
  belongs("eval_text", config.eval_text);
  belongs("train_audio", config.train_audio);
  belongs("eval_audio", config.eval_audio);
  belongs("eval_images", config.eval_images);
}

std::int64_t stream_tokens(const TextConfig& config, std::int64_t memory_length) {
  return config.stream_tokens > 0 ? config.stream_tokens : 32 * std::max(config.context, memory_length);
}

TextConfig resolved(TextConfig config) {
  record_paths(config.train_text);
  record_paths(config.eval_text);
  record_paths(config.train_images);
  record_paths(config.eval_images);
  record_paths(config.train_audio);
  record_paths(config.eval_audio);
  return config;
}

TextConfig resumed_text(const formats::Json& recorded, formats::Json& given, const std::filesystem::path& where) {
  // The data themselves are compared, so that files may have moved.
  constexpr std::array<std::string_view, 7> kChangeable = {"train_text",  "eval_text",  "train_images",  "eval_images",
                                                           "train_audio", "eval_audio", "max_eval_bytes"};
  auto config = resumed_settings<TextConfig>(recorded, given, kChangeable, where);
  check_config(config, quote(where.native(), 4096));
  return config;
}

}  // namespace weft::training
