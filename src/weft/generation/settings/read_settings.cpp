// SPDX-License-Identifier: Apache-2.0
// What of a generation_config.json Weft has, refuses, or need not know.
#include "weft/generation/settings/read_settings.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"

namespace weft::generation {
namespace {

using formats::Json;

/// A setting that Weft does not have, and the value that means nothing beside null and false.
struct Foreign {
  std::string_view name;
  double neutral;
};

// These change what is generated.
constexpr std::array kRefused = {
    Foreign{"num_beam_groups", 1}, Foreign{"diversity_penalty", 0},   Foreign{"penalty_alpha", 0},
    Foreign{"guidance_scale", 1},  Foreign{"watermarking_config", 0}, Foreign{"constraints", 0},
    Foreign{"force_words_ids", 0}, Foreign{"forced_decoder_ids", 0},  Foreign{"dola_layers", 0},
    Foreign{"max_time", 0},        Foreign{"token_healing", 0},
};

// These change speed, memory or what is returned beside the text.
constexpr std::array<std::string_view, 31> kIgnored = {"transformers_version",
                                                       "_from_model_config",
                                                       "_commit_hash",
                                                       "use_cache",
                                                       "cache_implementation",
                                                       "cache_config",
                                                       "return_legacy_cache",
                                                       "output_attentions",
                                                       "output_hidden_states",
                                                       "output_scores",
                                                       "output_logits",
                                                       "return_dict_in_generate",
                                                       "low_memory",
                                                       "num_assistant_tokens",
                                                       "num_assistant_tokens_schedule",
                                                       "assistant_confidence_threshold",
                                                       "assistant_early_exit",
                                                       "assistant_lookbehind",
                                                       "target_lookbehind",
                                                       "prompt_lookup_num_tokens",
                                                       "max_matching_ngram_size",
                                                       "is_assistant",
                                                       "disable_compile",
                                                       "compile_config",
                                                       "prefill_chunk_size",
                                                       "trust_remote_code",
                                                       "use_mtp",
                                                       "custom_generate",
                                                       "is_encoder_decoder",
                                                       "speculative_mode",
                                                       "continuous_batching_config"};

constexpr const char* kForceFirst = "force_bos_token_to_be_generated";

bool is_list_of_ids(std::string_view name) {
  return name == "eos_token_id" || name == "forced_eos_token_id" || name == "suppress_tokens" ||
         name == "begin_suppress_tokens";
}

[[noreturn]] void refuse_value(std::string_view where, std::string_view name, const Json& value) {
  fail(ErrorKind::kFormat, where, ": ", name, " has an unexpected form, found ", quote(value.dump()));
}

/// [17, 4] as "17,4".
std::string word_text(const Json& ids, std::string_view where, std::string_view name) {
  std::string text;
  for (const Json& id : ids) {
    if (!id.is_number_integer()) {
      refuse_value(where, name, ids);
    }
    text += (text.empty() ? "" : ",") + id.dump();
  }
  if (!ids.is_array() || text.empty()) {
    refuse_value(where, name, ids);
  }
  return text;
}

/// [[17, 4], -2.5] as "17,4:-2.5".
std::string biased_text(const Json& pair, std::string_view where, std::string_view name) {
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number()) {
    refuse_value(where, name, pair);
  }
  return word_text(pair[0], where, name) + ":" + pair[1].dump();
}

template <typename Convert>
Json each(const Json& list, std::string_view where, std::string_view name, Convert&& convert) {
  if (!list.is_array()) {
    refuse_value(where, name, list);
  }
  Json texts = Json::array();
  for (const Json& entry : list) {
    texts.push_back(entry.is_string() ? entry : Json(convert(entry, where, name)));
  }
  return texts;
}

Json own_value(const std::string& name, const Json& value, std::string_view where) {
  if (name == "early_stopping" && value.is_boolean()) {
    return value.get<bool>() ? "true" : "false";
  }
  if ((is_list_of_ids(name) && value.is_number()) || (name == "stop_strings" && value.is_string())) {
    return Json::array({value});
  }
  if (name == "bad_words_ids") {
    return each(value, where, name, word_text);
  }
  if (name == "sequence_bias") {
    return each(value, where, name, biased_text);
  }
  if (name == "exponential_decay_length_penalty" && value.is_array()) {
    if (value.size() != 2 || !value[0].is_number() || !value[1].is_number()) {
      refuse_value(where, name, value);
    }
    return value[0].dump() + ":" + value[1].dump();
  }
  return value;
}

/// null, false, [] and {}.
bool says_nothing(const Json& value) { return value == Json(false) || (!value.is_string() && value.empty()); }

/// Errors: kUnsupported for a setting that changes results and that Weft does not have.
void refuse_foreign(const Json& json, std::string_view where) {
  for (const Foreign& refused : kRefused) {
    const auto found = json.find(std::string(refused.name));
    if (found == json.end() || says_nothing(*found) ||
        (found->is_number() && found->get<double>() == refused.neutral)) {
      continue;
    }
    throw Error(ErrorKind::kUnsupported,
                concat(where, ": Weft does not have the setting ", refused.name, ", found ", quote(found->dump())),
                concat("remove ", refused.name, " from the file to generate without it"));
  }
}

/// Names what a file of settings has beside those that Weft uses, refuses or need not know.
void warn_of_unknown(const Json& json, std::string_view where) {
  const Json mine = formats::only_fields_of<GenerationConfig>(json);
  std::vector<std::string> unknown;
  for (const auto& [name, value] : json.items()) {
    const bool refused =
        std::any_of(kRefused.begin(), kRefused.end(), [&](const Foreign& f) { return f.name == name; });
    if (!refused && !mine.contains(name) && !says_nothing(value) &&
        std::find(kIgnored.begin(), kIgnored.end(), name) == kIgnored.end()) {
      unknown.push_back(name);
    }
  }
  if (!unknown.empty()) {
    log_warning(where, ": settings that Weft does not know are not used: ", quoted_list(unknown, 5));
  }
}

Json object_of(const ModelFile& file) {
  Json json = formats::read_json(file);
  if (!json.is_object()) {
    fail(ErrorKind::kFormat, quote(file.path().native(), 4096), ": expected an object of settings");
  }
  return json;
}

/// Ids that start or fill a text, from config.json where generation_config.json lacks them. One that names a
/// bos_token_id alone starts with that, whatever config.json says, as in transformers; where it names neither,
/// transformers refuses to write.
void add_ids(Json& settings, const Json& model) {
  const bool starts = settings.contains("decoder_start_token_id") || settings.contains("bos_token_id");
  for (const std::string_view name : {"decoder_start_token_id", "bos_token_id", "pad_token_id"}) {
    const std::string key(name);
    const bool decided = name == "decoder_start_token_id" && starts;
    if (!settings.contains(key) && !decided && model.contains(key) && model[key].is_number_integer()) {
      settings[key] = model[key];
    }
  }
}

/// The older name of forced_bos_token_id, which transformers reads in settings that stand, or stood, in a config.json:
/// it wins over the newer one.
void force_first(Json& settings, const Json& json, std::string_view where) {
  const auto found = json.find(kForceFirst);
  if (found == json.end() || says_nothing(*found) || *found == 0) {
    return;
  }
  settings.erase("forced_bos_token_id");
  if (settings.contains("bos_token_id")) {
    const Json first = settings["bos_token_id"];  // a copy: the new member may move all others
    settings["forced_bos_token_id"] = first;
  } else {
    log_warning(where, ": force_bos_token_to_be_generated has no effect, because there is no bos_token_id");
  }
}

}  // namespace

Json own_form(const Json& json, std::string_view where) {
  Json result = Json::object();
  for (const auto& [name, value] : json.items()) {
    if (!value.is_null()) {
      result[name] = own_value(name, value, where);
    }
  }
  return result;
}

namespace {

// `model_json`: what is in the directory's config.json.
GenerationConfig read_over(const std::filesystem::path& directory, const Json& model_json,
                           const GenerationConfig& defaults) {
  const ModelFile own(directory, "generation_config.json");
  const bool has_own = own.exists();
  const std::string where = quote((has_own ? own : ModelFile(directory, "config.json")).path().native(), 4096);
  const Json json = has_own ? object_of(own) : model_json;
  refuse_foreign(json, where);
  Json settings = own_form(formats::only_fields_of<GenerationConfig>(json), where);
  const bool of_model = !has_own || json.value("_from_model_config", Json(false)) == true;
  if (of_model) {
    force_first(settings, json, where);
  }
  GenerationConfig config = has_own ? GenerationConfig{} : defaults;
  if (has_own) {
    Json said = json;
    if (of_model) {
      said.erase(kForceFirst);  // which counted above
    }
    warn_of_unknown(said, where);
    add_ids(settings, model_json);
  } else if (settings.contains("max_length")) {
    config.max_new_tokens = -1;  // a default, which would win against what the file says
  }
  formats::update_from_json(config, settings, where);
  validate(config, where);
  return config;
}

}  // namespace

GenerationConfig read_settings(const std::filesystem::path& directory, const GenerationConfig& defaults) {
  const ModelFile model(directory, "config.json");
  if (!model.exists()) {
    return ModelFile(directory, "generation_config.json").exists() ? read_over(directory, Json::object(), defaults)
                                                                   : defaults;
  }
  return read_over(directory, object_of(model), defaults);
}

GenerationConfig read_settings(const checkpoint::OpenedModel& directory, const GenerationConfig& defaults) {
  return read_over(directory.path(), directory.json(), defaults);
}

std::string file_of_setting(const std::filesystem::path& directory, std::string_view field) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const ModelFile file(directory, name);
    if (file.exists() && object_of(file).contains(std::string(field))) {
      return quote(file.path().native(), 4096);
    }
  }
  return quote(directory.string(), 4096);
}

std::int64_t start_token(const GenerationConfig& config, std::string_view where) {
  const std::int64_t start = config.decoder_start_token_id >= 0 ? config.decoder_start_token_id : config.bos_token_id;
  require(start >= 0, where,
          ": a decoder with a source needs decoder_start_token_id or bos_token_id; give one of them");
  return start;
}

GenerationConfig language_model_defaults() {
  GenerationConfig config;
  config.max_new_tokens = 256;
  config.do_sample = true;
  config.top_k = 0;
  return config;
}

GenerationConfig settings_over(GenerationConfig config, const formats::Json& given, std::string_view where) {
  const auto is_given = [&](const char* field) { return given.contains(field); };
  config.max_new_tokens = is_given("max_length") ? -1 : config.max_new_tokens;
  if (is_given("max_length") || is_given("max_new_tokens")) {
    config.max_new_tokens_per_source.clear();
  }
  config.min_new_tokens = is_given("min_length") ? -1 : config.min_new_tokens;
  formats::update_from_json(config, given, where);
  require(!is_given("max_new_tokens") || !is_given("min_new_tokens") || config.min_new_tokens <= config.max_new_tokens,
          where, ": min_new_tokens ", config.min_new_tokens, " is above max_new_tokens ", config.max_new_tokens);
  validate(config, where);
  return config;
}

void check_settings(const GenerationConfig& config, const checkpoint::OpenedModel& directory,
                    const WhereOfField& where) {
  const checkpoint::Facts facts = directory.facts();
  const std::int64_t vocabulary = facts.writes ? facts.writes->vocabulary : facts.reads.vocabulary;
  check_ids(config, vocabulary, where);
  if (!facts.writes) {
    return;
  }
  const char* const first = config.decoder_start_token_id >= 0 ? "decoder_start_token_id" : "bos_token_id";
  const std::int64_t start = start_token(config, quote(directory.path().string(), 4096));
  if (start >= vocabulary) {
    fail(ErrorKind::kArgument, where(first), ": ", first, " names token ", start, ", but the model has ", vocabulary,
         " tokens, the last of which is ", vocabulary - 1);
  }
  try {
    lengths_of(config, 1, facts.writes->limit);
  } catch (const Error& error) {
    throw Error(error.kind(),
                concat(where(config.max_new_tokens >= 0 ? "max_new_tokens" : "max_length"), ": ", error.what()),
                error.hint());
  }
}

}  // namespace weft::generation
