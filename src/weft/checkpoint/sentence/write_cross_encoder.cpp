// SPDX-License-Identifier: Apache-2.0
// One member more in a file that is there.
#include "weft/checkpoint/sentence/write_cross_encoder.h"

#include "weft/core/files.h"
#include "weft/formats/json_members.h"

namespace weft::checkpoint {

void write_cross_encoder(const std::filesystem::path& directory, const CrossEncoderSettings& settings) {
  formats::Json config = formats::read_json_object(ModelFile(directory, "config.json"));
  config["sentence_transformers"] = {{"activation_fn", settings.activation}};
  write_file_atomically(directory / "config.json", formats::print_json(config, 2) + "\n");
}

}  // namespace weft::checkpoint
