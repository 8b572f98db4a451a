// SPDX-License-Identifier: Apache-2.0
// Lists that may be one text, and widths that may be said twice.
#include "weft/models/families/deberta_v2/config_json.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/formats/json_members.h"
#include "weft/models/families/deberta_v2/config.h"
#include "weft/models/families/json/encoder_json.h"

namespace weft::models {
namespace {

using formats::Json;

/// "P2C | c2p" as ["p2c", "c2p"].
Json split_terms(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  Json terms = Json::array();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    std::string term = text.substr(begin, end - begin);
    std::erase(term, ' ');
    if (!term.empty()) {
      terms.push_back(std::move(term));
    }
    begin = end + 1;
  }
  return terms;
}

/// Errors: kUnsupported where `field` says another width than the layers have.
void require_width(const Json& json, const char* field, std::int64_t expected, std::string_view where) {
  const Json* const given = formats::given_member(json, field);
  if (given != nullptr && *given != expected) {
    fail(ErrorKind::kUnsupported, where, ": ", field, " must be ", expected, ", as the other sizes say, found ",
         formats::quoted_json(*given));
  }
}

}  // namespace

EncoderConfig deberta_v2_from_json(const Json& json, std::string_view where, const std::filesystem::path& directory) {
  Json flat = json;
  for (const char* name : {"pos_att_type", "embedding_size", "conv_kernel_size", "norm_rel_ebd"}) {
    const Json* const given = formats::given_member(json, name);
    if (given == nullptr) {
      flat.erase(name);
    } else if (std::string_view(name) == "pos_att_type" && given->is_string()) {
      flat[name] = split_terms(given->get<std::string>());
    }
  }
  EncoderConfig config = encoder_fields_from_json(flat, where, directory);
  require_width(json, "pooler_hidden_size", config.hidden_size, where);
  require_width(json, "attention_head_size", config.num_attention_heads > 0 ? config.head_dim() : 0, where);
  return config;
}

Json deberta_v2_to_json(const EncoderConfig& config, Head head) {
  Json json = encoder_fields_to_json(config, head);
  json["legacy"] = config.layout == 0;
  if (json["embedding_size"] == 0) {
    json["embedding_size"] = config.hidden_size;
  }
  return json;
}

}  // namespace weft::models
