// SPDX-License-Identifier: Apache-2.0
// A tiny BERT with random weights and the tokeniser of the fixtures, as a directory that tasks open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"

namespace weft::test {

/// Writes `directory`; `labels` of a head that has labels, `positions` the longest text in tokens.
inline void write_small_encoder(const std::filesystem::path& directory, models::Head head, std::size_t labels = 1,
                                std::int64_t positions = 64) {
  models::EncoderConfig config = models::base_config("bert");
  config.vocab_size = 89;
  config.hidden_size = 16;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 24;
  config.max_position_embeddings = positions;
  config.initializer_range = 0.4;
  config.id2label.clear();
  for (std::size_t label = 0; label < labels; ++label) {
    config.id2label.push_back("LABEL_" + std::to_string(label));
  }
  checkpoint::save_encoder(directory, models::make_encoder(config, head, 5),
                           std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers" / "bert");
}

/// Sets members of a JSON file of `directory`; the file may be new.
inline void set_members(const std::filesystem::path& file, const formats::Json& members) {
  formats::Json json = std::filesystem::exists(file) ? formats::read_json(file) : formats::Json::object();
  json.update(members);
  write_file_atomically(file, formats::print_json(json));
}

}  // namespace weft::test
