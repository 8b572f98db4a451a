// SPDX-License-Identifier: Apache-2.0
// How a text is generated: the settings of `transformers`' GenerationConfig, with its names and its meanings. The same
// field list reads generation_config.json and makes the flags of `weft generate`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"

namespace weft::generation {

/// The field list says what each field means. Lengths count tokens; "with the prompt" means the start token of a
/// decoder that has a source.
struct GenerationConfig {
  std::int64_t max_new_tokens = -1;
  std::int64_t max_length = -1;
  std::string max_new_tokens_per_source;
  std::int64_t min_new_tokens = -1;
  std::int64_t min_length = 0;
  std::int64_t num_beams = 1;
  std::int64_t num_return_sequences = 1;
  std::string early_stopping = "false";
  double length_penalty = 1.0;
  std::string length_penalty_form = "power";
  bool do_sample = false;
  double temperature = 1.0;
  std::int64_t top_k = 50;
  double top_p = 1.0;
  double min_p = 0.0;
  double top_h = 0.0;
  double typical_p = 1.0;
  double epsilon_cutoff = 0.0;
  double eta_cutoff = 0.0;
  std::int64_t seed = 0;
  double repetition_penalty = 1.0;
  double encoder_repetition_penalty = 1.0;
  std::int64_t no_repeat_ngram_size = 0;
  std::int64_t encoder_no_repeat_ngram_size = 0;
  std::vector<std::string> bad_words_ids;
  std::vector<std::string> sequence_bias;
  std::vector<std::int64_t> suppress_tokens;
  std::vector<std::int64_t> begin_suppress_tokens;
  std::int64_t forced_bos_token_id = -1;
  std::vector<std::int64_t> forced_eos_token_id;
  std::string exponential_decay_length_penalty;
  bool remove_invalid_values = false;
  bool renormalize_logits = false;
  std::vector<std::int64_t> eos_token_id;
  std::int64_t pad_token_id = -1;
  std::int64_t bos_token_id = -1;
  std::int64_t decoder_start_token_id = -1;
  std::vector<std::string> stop_strings;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    length_fields(visit);
    drawing_fields(visit);
    limit_fields(visit);
    token_fields(visit);
  }

 private:
  template <typename Visitor>
  static void length_fields(Visitor&& visit) {
    using C = GenerationConfig;
    visit(Field{"max_new_tokens", &C::max_new_tokens, "tokens to generate at most; -1 leaves that to max_length"}.range(
        -1, 1 << 30));
    visit(
        Field{"max_length", &C::max_length, "the same with the prompt; -1 with no max_new_tokens: 20 new tokens"}.range(
            -1, 1 << 30));
    visit(Field{"max_new_tokens_per_source", &C::max_new_tokens_per_source,
                "so many new tokens at most for each token of the source, and some more: 2:16"});
    visit(Field{"min_new_tokens", &C::min_new_tokens, "no end before so many new tokens; -1 leaves that to min_length"}
              .range(-1, 1 << 30));
    visit(Field{"min_length", &C::min_length, "no end before so many tokens with the prompt"}.range(0, 1 << 30));
    visit(Field{"num_beams", &C::num_beams, "texts that the search goes on with; 1 searches no beams"}.range(1, 4096));
    visit(Field{"num_return_sequences", &C::num_return_sequences, "texts to return for each prompt"}.range(1, 4096));
    visit(Field{"early_stopping", &C::early_stopping,
                "beams end when num_beams texts are finished (true), when no better one is likely (false) or possible "
                "(never)"}
              .one_of({"false", "true", "never"}));
    visit(Field{"length_penalty", &C::length_penalty, "exponent of the length that divides a beam's score"}.range(
        -100.0, 100.0));
    visit(Field{"length_penalty_form", &C::length_penalty_form,
                "what is raised to it: the length L (power), or (5 + L) / 6 (gnmt)"}
              .one_of({"power", "gnmt"}));
  }

  template <typename Visitor>
  static void drawing_fields(Visitor&& visit) {
    using C = GenerationConfig;
    visit(Field{"do_sample", &C::do_sample, "draw tokens; otherwise take the likeliest"});
    visit(Field{"temperature", &C::temperature, "divide the logits by this; 0 takes the likeliest token"}.range(0.0,
                                                                                                                1e6));
    visit(Field{"top_k", &C::top_k, "draw among the k likeliest tokens and those equal to the last; 0 for all"}.range(
        0, 1 << 30));
    visit(Field{"top_p", &C::top_p, "draw among the likeliest tokens, as many as have this probability together"}.range(
        0.0, 1.0));
    visit(Field{"min_p", &C::min_p, "draw among tokens of at least this part of the likeliest one's probability"}.range(
        0.0, 1.0));
    visit(Field{"top_h", &C::top_h, "draw among the likeliest tokens up to this part of the entropy; 0 for all"}.range(
        0.0, 1.0));
    visit(Field{"typical_p", &C::typical_p,
                "draw among the tokens nearest to the entropy that have this probability together"}
              .range(0.0, 1.0));
    visit(
        Field{"epsilon_cutoff", &C::epsilon_cutoff, "draw among tokens of at least this probability"}.range(0.0, 1.0));
    visit(Field{"eta_cutoff", &C::eta_cutoff, "the same with a bound that falls with the entropy"}.range(0.0, 1.0));
    visit(Field{"seed", &C::seed, "random seed; the same seed draws the same text"});
  }

  template <typename Visitor>
  static void limit_fields(Visitor&& visit) {
    using C = GenerationConfig;
    visit(Field{"repetition_penalty", &C::repetition_penalty, "above 1 makes tokens of the text less likely"}.range(
        1e-6, 1e6));
    visit(Field{"encoder_repetition_penalty", &C::encoder_repetition_penalty,
                "above 1 makes tokens of the source more likely"}
              .range(1e-6, 1e6));
    visit(Field{"no_repeat_ngram_size", &C::no_repeat_ngram_size, "no n tokens come twice; 0 for no limit"}.range(
        0, 1 << 20));
    visit(Field{"encoder_no_repeat_ngram_size", &C::encoder_no_repeat_ngram_size,
                "no n tokens of the source come; 0 for no limit"}
              .range(0, 1 << 20));
    visit(Field{"bad_words_ids", &C::bad_words_ids, "words that never come, each as its ids: 17,4"});
    visit(Field{"sequence_bias", &C::sequence_bias, "what is added to the score of a word, by its ids: 17,4:-2.5"});
    visit(Field{"suppress_tokens", &C::suppress_tokens, "ids that never come"});
    visit(Field{"begin_suppress_tokens", &C::begin_suppress_tokens, "ids that never come first"});
    visit(Field{"forced_bos_token_id", &C::forced_bos_token_id, "id that comes behind a single start token; -1: none"}
              .range(-1, 1 << 30));
    visit(Field{"forced_eos_token_id", &C::forced_eos_token_id, "ids one of which is the last token at the longest"});
    visit(Field{"exponential_decay_length_penalty", &C::exponential_decay_length_penalty,
                "the end becomes likelier by a factor from a length on: 40:1.02"});
    visit(Field{"remove_invalid_values", &C::remove_invalid_values, "NaN and infinity among scores become numbers"});
    visit(Field{"renormalize_logits", &C::renormalize_logits, "probabilities sum to 1 again after all other settings"});
  }

  template <typename Visitor>
  static void token_fields(Visitor&& visit) {
    using C = GenerationConfig;
    visit(Field{"eos_token_id", &C::eos_token_id, "ids of tokens that end the text"});
    visit(Field{"pad_token_id", &C::pad_token_id, "id behind the end of a text in a table; -1: that of the end"}.range(
        -1, 1 << 30));
    visit(Field{"bos_token_id", &C::bos_token_id, "id that starts a text; -1: none"}.range(-1, 1 << 30));
    visit(Field{"decoder_start_token_id", &C::decoder_start_token_id,
                "id that starts the text of a decoder that has a source; -1: bos_token_id"}
              .range(-1, 1 << 30));
    visit(Field{"stop_strings", &C::stop_strings, "texts that end the text where they come"});
  }
};

/// Where a setting was read, for errors: "weft generate" for a flag, or a file.
using WhereOfField = std::function<std::string(std::string_view field)>;

/// Whether the model has the ids that the settings name. Errors: kArgument naming where(field), the field, the id and
/// the vocabulary's size.
void check_ids(const GenerationConfig& config, std::int64_t vocabulary, const WhereOfField& where);

/// Every field's own rule and the rules between fields. Errors: kArgument naming `where` and the fields.
void validate(const GenerationConfig& config, std::string_view where);

/// Whether tokens are drawn: do_sample, and a temperature.
bool draws(const GenerationConfig& config);

/// Lengths that a config means for one prompt.
struct Lengths {
  std::int64_t prompt = 0;   ///< tokens before the first new one
  std::int64_t maximum = 0;  ///< prompt and new tokens together
  std::int64_t minimum = 0;  ///< no end before, prompt included
};

/// `longest` is Decoder::longest(); only the default of 20 new tokens is cut to it. `source` is how many tokens
/// max_new_tokens_per_source counts; without it that setting is not looked at. Errors: kArgument when the prompt leaves
/// no room, or when the text would be longer than `longest` allows.
Lengths lengths_of(const GenerationConfig& config, std::int64_t prompt, std::optional<std::int64_t> longest,
                   std::optional<std::int64_t> source = std::nullopt);

/// max_new_tokens_per_source: at most factor * (tokens of the source) + more new tokens, and at least one.
struct SourceLimit {
  double factor = 0.0;
  std::int64_t more = 0;
};
/// Nothing where the field is empty. Errors: kArgument naming `where`.
std::optional<SourceLimit> source_limit(const GenerationConfig& config, std::string_view where = "settings");

/// A word of bad_words_ids or sequence_bias.
struct BiasedWord {
  std::vector<std::int64_t> ids;
  double bias = 0.0;
};

/// The words of `bad_words_ids`, each with a bias of minus infinity. Errors: kArgument naming
/// `where` for what is no list of ids.
std::vector<BiasedWord> bad_words(const GenerationConfig& config, std::string_view where = "settings");
/// The words of `sequence_bias`; of equal words the last one counts. Errors: as bad_words().
std::vector<BiasedWord> biased_words(const GenerationConfig& config, std::string_view where = "settings");

/// From `start` tokens behind the prompt on, the scores of the end grow by factor^(tokens behind it).
struct LengthDecay {
  std::int64_t start = 0;
  double factor = 1.0;
};
/// Nothing where the field is empty. Errors: kArgument.
std::optional<LengthDecay> length_decay(const GenerationConfig& config, std::string_view where = "settings");

}  // namespace weft::generation
