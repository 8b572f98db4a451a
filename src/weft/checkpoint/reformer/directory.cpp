// SPDX-License-Identifier: Apache-2.0
// Names by the rows of a table; a local layer's three projections lie under each other in Weft's.
#include "weft/checkpoint/reformer/directory.h"

#include <string>
#include <string_view>
#include <vector>

#include "weft/checkpoint/name_rows.h"
#include "weft/checkpoint/reformer/config_json.h"
#include "weft/checkpoint/tokenizer_files.h"
#include "weft/core/files.h"
#include "weft/core/version.h"

namespace weft::checkpoint {
namespace {

const std::vector<models::NameRow>& reformer_rows() {
  static const std::vector<models::NameRow> rows = {
      {"embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
      {"embeddings.positions", {"~embeddings.position_embeddings.embedding.weight"}},
      {"embeddings.axial.rows", {"~embeddings.position_embeddings.weights.0"}},
      {"embeddings.axial.columns", {"~embeddings.position_embeddings.weights.1"}},
      {"encoder.layers.#.attention_norm", {"~encoder.layers.#.attention.layer_norm"}},
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layers.#.attention.self_attention.query", "~encoder.layers.#.attention.self_attention.key",
        "~encoder.layers.#.attention.self_attention.value"}},
      {"encoder.layers.#.attention.query_key", {"~encoder.layers.#.attention.self_attention.query_key"}},
      {"encoder.layers.#.attention.value", {"~encoder.layers.#.attention.self_attention.value"}},
      {"encoder.layers.#.attention.output", {"~encoder.layers.#.attention.output.dense"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.layers.#.feed_forward.layer_norm"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.layers.#.feed_forward.dense.dense"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.layers.#.feed_forward.output.dense"}},
      {"norm", {"~encoder.layer_norm"}},
      {"head.weight", {"lm_head.decoder.weight"}},
      {"head.bias", {"lm_head.bias"}},
  };
  return rows;
}

/// The head's bias under the name that it has in transformers 4, too, and constants that old files hold.
bool is_surplus(std::string_view name) {
  return name == "lm_head.decoder.bias" || name.find("mask_value_float") != std::string_view::npos;
}

}  // namespace

WeightMap reformer_map(const models::TransformerConfig&) {
  return {.names = [](const std::string& parameter) -> HuggingFaceNames {
            const std::string name = parameter.starts_with("layers.") ? "encoder." + parameter : parameter;
            return {.parts = names_by_rows(reformer_rows(), name, "reformer.")};
          },
          .may_be_surplus = is_surplus,
          .takes_float64 = true};
}

void save_reformer(const std::filesystem::path& directory, const models::LanguageModel& model,
                   const std::filesystem::path& files_from) {
  const std::string config = formats::print_json(reformer_to_json(model->config()), 2) + "\n";
  write_directory_atomically(directory, [&](const std::filesystem::path& fresh) {
    for (const char* name : kHuggingFaceTokenizerFiles) {
      if (std::filesystem::exists(files_from / name)) {
        write_file_atomically(fresh / name, read_file(files_from / name));
      }
    }
    save_tensors(fresh / "model.safetensors", named_weights(*model, reformer_map(model->config())),
                 {{"format", "pt"}, {"weft_version", std::string(kVersion)}});
    write_file_atomically(fresh / "config.json", config);
  });
}

}  // namespace weft::checkpoint
