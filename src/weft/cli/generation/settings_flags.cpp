// SPDX-License-Identifier: Apache-2.0
// Settings in help by what they are for.
#include "weft/cli/generation/settings_flags.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "weft/cli/front/field_flags.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/generation/settings/read_settings.h"

namespace weft::cli {
namespace {

using generation::GenerationConfig;

// Without effect where the likeliest token is taken.
constexpr std::array<std::string_view, 9> kDrawing = {"temperature", "top_k",          "top_p",      "min_p", "top_h",
                                                      "typical_p",   "epsilon_cutoff", "eta_cutoff", "seed"};
// Without effect where one text is written at a time.
constexpr std::array<std::string_view, 3> kBeams = {"early_stopping", "length_penalty", "length_penalty_form"};

void warn_of_idle(const formats::Json& given, std::span<const std::string_view> fields, std::string_view why) {
  std::vector<std::string> idle;
  for (const std::string_view field : fields) {
    if (given.contains(std::string(field))) {
      idle.push_back(flag_name(field));
    }
  }
  if (!idle.empty()) {
    log_warning(joined(idle, ", "), idle.size() > 1 ? " have" : " has", " no effect: ", why);
  }
}

void warn_of_no_effect(const formats::Json& given, const GenerationConfig& config) {
  if (config.temperature == 0.0) {  // which asks for the likeliest token, and so has an effect
    warn_of_idle(given, std::span(kDrawing).subspan(1), "no token is drawn at a temperature of 0");
  } else if (!generation::draws(config)) {
    warn_of_idle(given, kDrawing, "no token is drawn; give --do-sample");
  }
  if (config.num_beams == 1) {
    warn_of_idle(given, kBeams, "no beams are searched; give --num-beams");
  }
}

}  // namespace

void add_generation_flags(CLI::App& app, GenerationFlags& flags) {
  const std::map<std::string_view, std::string_view> aliases = {{"eos_token_id", "stop_ids"}};
  const auto add = [&](const std::string& title, std::vector<std::string_view> only) {
    add_fields<GenerationConfig>(app, {.title = title, .aliases = aliases, .only = std::move(only)}, flags.given);
  };
  add("Length and number", {"max_new_tokens", "max_length", "max_new_tokens_per_source", "min_new_tokens", "min_length",
                            "num_return_sequences"});
  add("Beams", {"num_beams", "early_stopping", "length_penalty", "length_penalty_form"});
  add("Drawing", {"do_sample", "temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff",
                  "eta_cutoff", "seed"});
  add("Repetition",
      {"repetition_penalty", "no_repeat_ngram_size", "encoder_repetition_penalty", "encoder_no_repeat_ngram_size"});
  add("Tokens and words",
      {"eos_token_id", "stop_strings", "bad_words_ids", "sequence_bias", "suppress_tokens", "begin_suppress_tokens",
       "forced_bos_token_id", "forced_eos_token_id", "exponential_decay_length_penalty", "remove_invalid_values",
       "renormalize_logits", "pad_token_id", "bos_token_id", "decoder_start_token_id"});
  app.add_flag("--print-settings", flags.print_settings,
               "print all settings, those of the directory with the flags over them, as JSON, and generate nothing");
}

GenerationConfig generation_settings(const GenerationFlags& flags, const checkpoint::OpenedModel& directory,
                                     std::string_view command, const GenerationConfig& defaults) {
  GenerationConfig usual = defaults;
  usual.do_sample = usual.do_sample && !flags.given.contains("num_beams");
  const GenerationConfig config =
      generation::settings_over(generation::read_settings(directory, usual), flags.given, command);
  warn_of_no_effect(flags.given, config);
  return config;
}

void check_settings(const GenerationConfig& config, const GenerationFlags& flags,
                    const checkpoint::OpenedModel& directory, std::string_view command) {
  generation::check_settings(config, directory, [&](std::string_view field) {
    return flags.given.contains(std::string(field)) ? std::string(command)
                                                    : generation::file_of_setting(directory.path(), field);
  });
}

}  // namespace weft::cli
