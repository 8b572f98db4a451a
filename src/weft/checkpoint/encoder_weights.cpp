// SPDX-License-Identifier: Apache-2.0
// What an encoder's file holds, by its names.
#include "weft/checkpoint/encoder_weights.h"

#include <algorithm>

#include "weft/checkpoint/encoder_names.h"
#include "weft/checkpoint/in_file/wrapped_names.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::EncoderModelImpl;
using models::Head;

std::string prefix_of(const EncoderConfig& config) { return concat(models::layout_of(config).base_prefix, "."); }

/// How many tensors of the embeddings, of the first layer and of heads the file has under the names of this layout.
std::size_t count_in(const formats::TensorFile& file, const models::NamesInFile& layout) {
  std::size_t count = 0;
  for (const models::NameRow& row : layout.names) {
    for (const std::string_view part : row.parts) {
      for (const std::string& prefix : {std::string(), concat(layout.base_prefix, ".")}) {
        const std::string name = models::filled_name(part, prefix, "0");
        count += file.find(name) != nullptr || file.find(name + ".weight") != nullptr ? 1 : 0;
      }
    }
  }
  return count;
}

}  // namespace

std::unique_ptr<formats::TensorFile> open_encoder_weights(const std::filesystem::path& directory,
                                                          EncoderConfig& config) {
  std::vector<models::NamesInFile> layouts;
  std::vector<std::string> anchors;
  for (config.layout = 0; config.layout <= models::encoder_rules(config).other_layouts.size(); ++config.layout) {
    layouts.push_back(models::layout_of(config));
    const std::vector<std::string> more = anchors_of(layouts.back().names, prefix_of(config));
    anchors.insert(anchors.end(), more.begin(), more.end());
  }
  std::unique_ptr<formats::TensorFile> file = open_weights(directory, anchors);
  const auto fuller = [&](const models::NamesInFile& one, const models::NamesInFile& other) {
    return count_in(*file, one) < count_in(*file, other);
  };
  config.layout = static_cast<std::size_t>(std::max_element(layouts.begin(), layouts.end(), fuller) - layouts.begin());
  return file;
}

EncoderFile describe_encoder_file(const formats::TensorFile& file, const EncoderConfig& config, Head head) {
  const std::string prefix = prefix_of(config);
  const auto& tensors = file.tensors();
  EncoderFile described{file};
  described.prefixed = std::any_of(tensors.begin(), tensors.end(),
                                   [&](const formats::TensorInfo& info) { return info.name.starts_with(prefix); });
  described.other_head = head == Head::kNone || config.architectures.size() != 1 ||
                         config.architectures.front() != models::architecture_name(config.model_type, head);
  // choose_head() found what config.json does not know: somebody's own class may have layers of its own.
  described.other_class = config.architectures.size() > 1;
  return described;
}

bool has_pooler(const EncoderFile& file, const EncoderConfig& config) {
  const auto has = [&](const char* parameter) {
    return file.file.find(hugging_face_names(config, Head::kNone, parameter, file.prefixed).parts.front()) != nullptr;
  };
  return models::encoder_rules(config).has_pooler(Head::kNone) && has("head.pooler.weight") && has("head.pooler.bias");
}

bool has_untied_decoder(const EncoderFile& file, const EncoderConfig& config) {
  const auto find = [&](const char* parameter) {
    return file.file.find(
        hugging_face_names(config, Head::kMaskedLanguageModel, parameter, file.prefixed).parts.front());
  };
  const formats::TensorInfo* decoder = find("head.decoder");
  const formats::TensorInfo* tokens = find("encoder.embeddings.tokens");
  if (decoder == nullptr || tokens == nullptr || decoder->shape != tokens->shape || decoder->begin == tokens->begin) {
    return false;
  }
  return !read_tensor(file.file, *decoder).equal(read_tensor(file.file, *tokens));
}

WeightMap encoder_weight_map(const EncoderFile& file, const EncoderConfig& config, Head head) {
  WeightMap map;
  map.names = [config, head, prefixed = file.prefixed](const std::string& parameter) {
    return hugging_face_names(config, head, parameter, prefixed);
  };
  map.asked_attention = file.attention;
  map.asked_may_be_new = file.new_head;
  map.may_be_new = [fresh = file.new_head](const std::string& parameter, bool misshapen) {
    return fresh && parameter.starts_with(misshapen ? "head.projection" : "head.");
  };
  const bool foreign = file.other_class && file.prefixed;
  map.may_be_surplus = [config, other_head = file.other_head, foreign](std::string_view name) {
    return is_passed_over(config, name) || (other_head && is_of_a_head(config, name)) ||
           (foreign && !name.starts_with(prefix_of(config)));
  };
  map.takes_float64 = true;
  map.model = concat("the model in config.json (head ", to_string(head), ")");
  return map;
}

NamedTensors encoder_tensors(const EncoderModelImpl& model) {
  WeightMap map;
  EncoderConfig config = model.config();
  config.layout = models::layout_of(config).is_written ? config.layout : 0;
  map.names = [&](const std::string& parameter) {
    return hugging_face_names(config, model.head(), parameter, model.head() != Head::kNone);
  };
  return named_weights(model, map);
}

}  // namespace weft::checkpoint
