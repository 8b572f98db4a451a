// SPDX-License-Identifier: Apache-2.0
// Settings in help by what they are for.
#include "weft/cli/generation/settings_flags.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "weft/cli/front/field_flags.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
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

// The end of a text, at least `bytes` and some more of it: earlier tokens were looked at when they came, and the whole
// text each time would cost the square of its length.
std::string tail_text(const text::Tokenizer& tokenizer, std::span<const std::int64_t> made, std::size_t bytes) {
  constexpr std::size_t kMore = 16;  // the start of a piece may be written otherwise than in the text
  const std::size_t wanted = bytes + kMore;
  for (std::size_t count = wanted;; count *= 2) {  // tokens without text, or with half a character
    const std::span<const std::int64_t> tail = made.last(std::min(count, made.size()));
    std::string text = tokenizer.decode({tail.begin(), tail.end()});
    if (text.size() >= wanted || tail.size() == made.size()) {
      return text;
    }
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
  const GenerationConfig config = settings_over(generation::read_settings(directory, usual), flags.given, command);
  warn_of_no_effect(flags.given, config);
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
  generation::validate(config, where);
  return config;
}

void check_settings(const GenerationConfig& config, const GenerationFlags& flags,
                    const checkpoint::OpenedModel& directory, std::string_view command) {
  const generation::WhereOfField where = [&](std::string_view field) {
    return flags.given.contains(std::string(field)) ? std::string(command)
                                                    : generation::file_of_setting(directory.path(), field);
  };
  const checkpoint::Facts facts = directory.facts();
  const std::int64_t vocabulary = facts.writes ? facts.writes->vocabulary : facts.reads.vocabulary;
  generation::check_ids(config, vocabulary, where);
  if (!facts.writes) {
    return;
  }
  const char* const first = config.decoder_start_token_id >= 0 ? "decoder_start_token_id" : "bos_token_id";
  const std::int64_t start = generation::start_token(config, quote(directory.path().string(), 4096));
  if (start >= vocabulary) {
    fail(ErrorKind::kArgument, where(first), ": ", first, " names token ", start, ", but the model has ", vocabulary,
         " tokens, the last of which is ", vocabulary - 1);
  }
  try {
    generation::lengths_of(config, 1, facts.writes->limit);
  } catch (const Error& error) {
    throw Error(error.kind(),
                concat(where(config.max_new_tokens >= 0 ? "max_new_tokens" : "max_length"), ": ", error.what()),
                error.hint());
  }
}

std::function<bool(std::span<const std::int64_t> made)> stop_strings(const text::Tokenizer& tokenizer,
                                                                     const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return {};
  }
  std::size_t longest = 0;
  for (const std::string& text : texts) {
    longest = std::max(longest, text.size());
  }
  return [&tokenizer, texts, longest](std::span<const std::int64_t> made) {
    const std::string text = tail_text(tokenizer, made, longest);
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& stop) { return text.find(stop) != std::string::npos; });
  };
}

}  // namespace weft::cli
