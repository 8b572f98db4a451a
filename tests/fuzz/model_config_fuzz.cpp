// SPDX-License-Identifier: Apache-2.0
// Any bytes as config.json, training.json or a checkpoint's state.json: either a one-line error, or a config that is
// the same after it is written and read again. What a family makes of its config sees LibTorch and is not reached here.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "fuzz/support/tokenise.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/core/log.h"
#include "weft/formats/json_members.h"
#include "weft/models/encoder_config.h"
#include "weft/models/transformer_config.h"
#include "weft/training/run_directory.h"
#include "weft/training/text_config.h"
#include "weft/training/trainer_config.h"

namespace {

using weft::formats::Json;

template <typename Config>
void read_config(const Json& json) {
  weft::fuzz::one_line_errors([&] {
    Config config;
    weft::formats::update_from_json(config, weft::formats::only_fields_of<Config>(json), "fuzz");
    Config again;
    weft::formats::update_from_json(again, weft::formats::to_json(config), "fuzz");
    if (weft::formats::to_json(again) != weft::formats::to_json(config)) {
      std::abort();
    }
  });
}

void read_model(const std::filesystem::path& directory) {
  const Json json = weft::checkpoint::read_model_config(directory);
  weft::fuzz::one_line_errors([&] { weft::checkpoint::require_encoder(json, directory); });
  weft::fuzz::one_line_errors([&] { weft::checkpoint::require_own_model(json, directory); });
  read_config<weft::models::EncoderConfig>(json);
  read_config<weft::models::TransformerConfig>(json);
  read_config<weft::training::TrainerConfig>(json);
  read_config<weft::training::TextConfig>(json);
}

void read_checkpoint(const std::filesystem::path& run) {
  const auto checkpoint = weft::training::read_checkpoint(weft::training::checkpoint_path(run, 2));
  if (checkpoint) {
    verify(*checkpoint);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weft::test::TemporaryDirectory folder;
  weft::set_log_level(weft::LogLevel::kError);  // a checkpoint that is left out is a warning each time
  const std::filesystem::path checkpoint = weft::training::checkpoint_path(folder.path(), 2);
  std::filesystem::create_directories(checkpoint);
  for (const std::filesystem::path& file :
       {folder / "config.json", folder / "training.json", checkpoint / "state.json"}) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  std::ofstream(checkpoint / "model.safetensors", std::ios::binary) << "weights";
  weft::fuzz::one_line_errors([] { read_model(folder.path()); });
  weft::fuzz::one_line_errors([] { weft::training::RunDirectory::open_beside(folder.path()).training(); });
  weft::fuzz::one_line_errors([] { read_checkpoint(folder.path()); });
  return 0;
}
