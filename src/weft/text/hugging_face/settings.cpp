// SPDX-License-Identifier: Apache-2.0
// The three small files, merged as `transformers` 5 merges them: added_tokens_decoder in tokenizer_config.json replaces
// the two older files.
#include "weft/text/hugging_face/settings.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/formats/python_json.h"

namespace weft::text {
namespace {

using formats::Json;

constexpr std::string_view kRoleKeys[kSpecialRoles] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                       "pad_token", "cls_token", "mask_token"};
constexpr const char* kConfig = "tokenizer_config.json";
constexpr const char* kMap = "special_tokens_map.json";
constexpr const char* kAdded = "added_tokens.json";

// Field by field; what is there and of the wrong type is an error, never a default.
class SettingsReader {
 public:
  SettingsReader(const std::map<std::string, std::string>& files, std::string_view where)
      : files_(files), where_(where) {}

  TokenizerSettings read() {
    Json config = object(kConfig);
    settings_.tokenizer_class = string(config, "tokenizer_class");
    settings_.maximum_length = maximum_length(config);
    settings_.lower_case = boolean(config, "do_lower_case");
    settings_.split_punctuation = boolean(config, "split_by_punct").value_or(false);
    settings_.chinese_characters = boolean(config, "tokenize_chinese_chars").value_or(true);
    settings_.strip_accents = boolean(config, "strip_accents");
    settings_.prefix_space = boolean(config, "add_prefix_space");
    settings_.trim_offsets = boolean(config, "trim_offsets").value_or(true);
    settings_.source_language = string(config, "src_lang");
    settings_.extra_ids = extra_ids(config);
    settings_.clean_up = boolean(config, "clean_up_tokenization_spaces").value_or(false);
    settings_.truncate_left = truncate_left(config);
    settings_.type_ids = type_ids(config);
    read_special(config, kConfig);
    // In newer directories one field holds what the two older files said.
    if (config.contains("added_tokens_decoder")) {
      read_decoder(config["added_tokens_decoder"]);
    } else {
      read_special(object(kMap), kMap);
      read_added(object(kAdded));
    }
    settings_.config = std::move(config);
    return std::move(settings_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void reject(const char* file, const Parts&... parts) const {
    fail(ErrorKind::kFormat, where_, ": ", file, ": ", parts...);
  }

  // The file's object, empty when there is no such file.
  Json object(const char* name) const {
    const auto found = files_.find(name);
    if (found == files_.end()) {
      return Json::object();
    }
    Json json = formats::parse_python_json(found->second, concat(where_, ": ", name));
    if (!json.is_object()) {
      reject(name, "expected an object, found ", json.type_name());
    }
    return json;
  }

  std::optional<bool> boolean(const Json& json, const char* key) const {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) {
      return std::nullopt;
    }
    if (!found->is_boolean()) {
      reject(kConfig, key, " must be true or false, found ", found->type_name());
    }
    return found->get<bool>();
  }

  std::string string(const Json& json, const char* key) const {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) {
      return {};
    }
    if (!found->is_string()) {
      reject(kConfig, key, " must be a string, found ", found->type_name());
    }
    return found->get<std::string>();
  }

  std::optional<std::int64_t> extra_ids(const Json& config) const {
    constexpr std::int64_t kMost = 1 << 16;
    const auto found = config.find("extra_ids");
    if (found == config.end() || found->is_null()) {
      return std::nullopt;
    }
    const std::int64_t count = found->is_number_integer() ? found->get<std::int64_t>() : -1;
    if (count < 0 || count > kMost) {
      reject(kConfig, "extra_ids must be an integer from 0 to ", kMost);
    }
    return count;
  }

  bool truncate_left(const Json& config) const {
    const std::string side = string(config, "truncation_side");
    if (!side.empty() && side != "left" && side != "right") {
      reject(kConfig, "truncation_side must be left or right, found ", quote(side));
    }
    return side == "left";
  }

  std::optional<bool> type_ids(const Json& config) const {
    const auto names = config.find("model_input_names");
    if (names == config.end() || names->is_null()) {
      return std::nullopt;
    }
    if (!names->is_array()) {
      reject(kConfig, "model_input_names must be a list, found ", names->type_name());
    }
    return std::find(names->begin(), names->end(), Json("token_type_ids")) != names->end();
  }

  // transformers writes 10^30 where there is no limit.
  std::int64_t maximum_length(const Json& config) const {
    const auto found = config.find("model_max_length");
    constexpr double kNoLimit = 1e9;
    if (found == config.end() || found->is_null()) {
      return 0;
    }
    if (!found->is_number()) {
      reject(kConfig, "model_max_length must be a number, found ", found->type_name());
    }
    const auto value = found->get<double>();
    return value >= 1 && value < kNoLimit ? static_cast<std::int64_t>(value) : 0;
  }

  // A string, or an object with the flags of tokenizers.AddedToken. Special tokens are not normalised unless they say
  // so.
  AddedToken token(const Json& json, const char* file, std::string_view key, bool special) const {
    if (json.is_string()) {
      return {.content = json.get<std::string>(), .special = special};
    }
    const auto content = json.is_object() ? json.find("content") : json.end();
    if (!json.is_object() || content == json.end() || !content->is_string()) {
      reject(file, quote(key), " must be a token: a string, or an object with a string 'content'");
    }
    const auto flag = [&](const char* name, bool otherwise) {
      const auto found = json.find(name);
      if (found != json.end() && !found->is_boolean()) {
        reject(file, quote(key), ": ", name, " must be true or false, found ", found->type_name());
      }
      return found != json.end() ? found->get<bool>() : otherwise;
    };
    const bool is_special = special || flag("special", false);
    return {.content = content->get<std::string>(),
            .strip_left = flag("lstrip", false),
            .strip_right = flag("rstrip", false),
            .single_word = flag("single_word", false),
            .normalized = flag("normalized", !is_special),
            .special = is_special};
  }

  void read_special(const Json& json, const char* file) {
    for (std::size_t role = 0; role < kSpecialRoles; ++role) {
      const auto found = json.find(kRoleKeys[role]);
      if (found != json.end() && !found->is_null()) {
        settings_.named[role] = token(*found, file, kRoleKeys[role], true);
      }
    }
    // The newer name is that of transformers 5, where it may be an object of named tokens, which have their roles.
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      const auto found = json.find(key);
      if (found == json.end() || found->is_null() || found->is_object()) {
        continue;
      }
      if (!found->is_array()) {
        reject(file, key, " must be a list of tokens, found ", found->type_name());
      }
      for (const Json& element : *found) {
        settings_.extra.push_back(token(element, file, key, true));
      }
    }
  }

  void read_decoder(const Json& json) {
    if (!json.is_object()) {
      reject(kConfig, "added_tokens_decoder must be an object, found ", json.type_name());
    }
    for (const auto& [key, value] : json.items()) {
      add(integer_of(key).value_or(-1), token(value, kConfig, key, false), kConfig);
    }
  }

  void read_added(const Json& json) {
    for (const auto& [key, value] : json.items()) {
      // The file has no flags: a token that has a role is special.
      bool special = false;
      for (const auto& named : settings_.named) {
        special = special || (named && named->content == key);
      }
      const std::int64_t id = value.is_number_integer() ? value.get<std::int64_t>() : -1;
      add(id, {.content = key, .normalized = !special, .special = special}, kAdded);
    }
  }

  void add(std::int64_t id, AddedToken token, const char* file) {
    constexpr std::int64_t kLargestId = std::int64_t{1} << 31;
    if (id < 0 || id >= kLargestId) {
      reject(file, "the token ", quote(token.content), " must have an integer of at least 0 as its id");
    }
    settings_.added.emplace(id, std::move(token));
  }

  const std::map<std::string, std::string>& files_;
  std::string_view where_;
  TokenizerSettings settings_;
};

}  // namespace

std::string_view role_key(SpecialRole role) noexcept { return kRoleKeys[static_cast<std::size_t>(role)]; }

TokenizerSettings read_tokenizer_settings(const std::map<std::string, std::string>& files, std::string_view where) {
  return SettingsReader(files, where).read();
}

}  // namespace weft::text
