// SPDX-License-Identifier: Apache-2.0
// One form: settings that other programs would choose are checked and not followed.
#include "weft/checkpoint/int8/quantization_config.h"

#include "weft/checkpoint/model_kind.h"
#include "weft/checkpoint/sentence/sentence_settings.h"
#include "weft/core/error.h"

namespace weft::checkpoint {
namespace {

using formats::Json;

constexpr const char* kMember = "quantization_config";
constexpr const char* kMethod = "weft-int8";

Json eight_bits(const char* strategy) {
  return {{"num_bits", 8}, {"type", "int"}, {"symmetric", true}, {"strategy", strategy}};
}

}  // namespace

Json quantization_config() {
  Json rows = eight_bits("token");
  rows["dynamic"] = true;
  const Json group = {
      {"targets", {"Linear", "Embedding"}}, {"weights", eight_bits("channel")}, {"input_activations", std::move(rows)}};
  return {{"quant_method", kMethod}, {"format", "int-quantized"}, {"config_groups", {{"group_0", group}}}};
}

bool take_quantization(Json& config, std::string_view where) {
  const auto found = config.find(kMember);
  if (found == config.end() || !found->is_object() || found->value("quant_method", Json()) != kMethod) {
    return false;
  }
  if (nlohmann::json(*found) != nlohmann::json(quantization_config())) {  // whatever their order
    fail(ErrorKind::kFormat, where, ": ", kMember, " of ", kMethod, " must be ",
         formats::print_json(quantization_config()), ", found ", formats::print_json(*found));
  }
  config.erase(found);
  return true;
}

bool has_int8_weights(const std::filesystem::path& directory) {
  const auto has_config = [](const std::filesystem::path& folder) { return ModelFile(folder, "config.json").exists(); };
  const std::filesystem::path folder = has_config(directory) ? directory : transformer_folder(directory);
  if (!has_config(folder)) {
    return false;
  }
  Json config = read_model_config(folder);
  return take_quantization(config, (folder / "config.json").string());
}

std::string scale_name(std::string_view tensor) { return concat(tensor, "_scale"); }

}  // namespace weft::checkpoint
