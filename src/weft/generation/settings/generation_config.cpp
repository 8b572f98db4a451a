// SPDX-License-Identifier: Apache-2.0
// Rules between the settings, and the settings that are written as text.
#include "weft/generation/settings/generation_config.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::generation {
namespace {

constexpr std::int64_t kDefaultNewTokens = 20;  // of transformers, where nothing says how long a text may be

/// "17,4" as ids.
std::vector<std::int64_t> ids_in(std::string_view text, std::string_view where, std::string_view field) {
  std::vector<std::int64_t> ids;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto id = number_of<std::int64_t>(text.substr(begin, end - begin));
    require(id && *id >= 0, where, ": ", field, " must be token ids with commas between them, as 17,4, found ",
            Quoted(text));
    ids.push_back(*id);
    begin = end + 1;
  }
  return ids;
}

void check_not_negative(const std::vector<std::int64_t>& ids, std::string_view where, std::string_view field) {
  for (const std::int64_t id : ids) {
    require(id >= 0, where, ": ", field, " must be token ids of at least 0, found ", id);
  }
}

}  // namespace

bool draws(const GenerationConfig& config) { return config.do_sample && config.temperature > 0.0; }

void validate(const GenerationConfig& config, std::string_view where) {
  check_fields(config, where);
  const std::int64_t most = draws(config) && config.num_beams == 1 ? 4096 : config.num_beams;
  require(config.num_return_sequences <= most, where, ": num_return_sequences ", config.num_return_sequences,
          config.num_beams == 1 ? " needs do_sample or beams: greedy search has one text"
                                : " exceeds the number of beams, num_beams ",
          [&] { return config.num_beams == 1 ? "" : concat(config.num_beams); });
  check_not_negative(config.eos_token_id, where, "eos_token_id");
  check_not_negative(config.forced_eos_token_id, where, "forced_eos_token_id");
  check_not_negative(config.suppress_tokens, where, "suppress_tokens");
  check_not_negative(config.begin_suppress_tokens, where, "begin_suppress_tokens");
  require(config.typical_p > 0.0, where, ": typical_p must be above 0, found ", config.typical_p);
  for (const std::string& text : config.stop_strings) {
    require(!text.empty(), where, ": stop_strings must not hold an empty text");
  }
  bad_words(config, where);
  biased_words(config, where);
  source_limit(config, where);
  require(!length_decay(config, where) || !config.eos_token_id.empty(), where,
          ": exponential_decay_length_penalty needs eos_token_id");
}

void check_ids(const GenerationConfig& config, std::int64_t vocabulary, const WhereOfField& where) {
  const auto check = [&](std::int64_t id, std::string_view field) {
    if (id >= vocabulary) {
      fail(ErrorKind::kArgument, where(field), ": ", field, " names token ", id, ", but the model has ", vocabulary,
           " tokens, the last of which is ", vocabulary - 1);
    }
  };
  using Ids = std::vector<std::int64_t>;
  for (const auto& [field, ids] : {std::pair<std::string_view, const Ids*>{"eos_token_id", &config.eos_token_id},
                                   {"forced_eos_token_id", &config.forced_eos_token_id},
                                   {"suppress_tokens", &config.suppress_tokens},
                                   {"begin_suppress_tokens", &config.begin_suppress_tokens}}) {
    for (const std::int64_t id : *ids) {
      check(id, field);
    }
  }
  check(config.forced_bos_token_id, "forced_bos_token_id");
  // pad_token_id is written and never read: any number may mark the places behind an end.
  for (const BiasedWord& word : biased_words(config)) {
    check(*std::max_element(word.ids.begin(), word.ids.end()), "sequence_bias");
  }
  for (const BiasedWord& word : bad_words(config)) {
    check(*std::max_element(word.ids.begin(), word.ids.end()), "bad_words_ids");
  }
}

Lengths lengths_of(const GenerationConfig& config, std::int64_t prompt, std::optional<std::int64_t> longest,
                   std::optional<std::int64_t> source) {
  Lengths lengths{.prompt = prompt};
  constexpr std::int64_t kNone = -1;
  std::int64_t by_source = kNone;
  if (const auto limit = source_limit(config); limit && source) {
    const auto tokens = static_cast<std::int64_t>(limit->factor * static_cast<double>(*source));
    by_source = prompt + std::max<std::int64_t>(1, tokens + limit->more);
  }
  if (config.max_new_tokens >= 0) {
    lengths.maximum = prompt + config.max_new_tokens;
  } else if (config.max_length >= 0) {
    lengths.maximum = config.max_length;
    require(prompt < lengths.maximum, "a prompt of ", prompt,
            " tokens leaves no room below max_length = ", config.max_length, "; give max_new_tokens");
  } else {
    const std::int64_t usual = by_source != kNone ? by_source : prompt + kDefaultNewTokens;
    // The last token is chosen and never shown to the model.
    lengths.maximum = longest ? std::clamp(*longest + 1, prompt + 1, usual) : usual;
  }
  const bool has_total = config.max_new_tokens < 0 && config.max_length >= 0;
  require(!longest || lengths.maximum - 1 <= *longest, "a prompt of ", prompt, " tokens and ",
          has_total ? "max_length = " : "max_new_tokens = ", has_total ? config.max_length : lengths.maximum - prompt,
          " exceed the ", longest.value_or(0), " positions of the decoder");
  lengths.maximum = by_source != kNone ? std::min(lengths.maximum, by_source) : lengths.maximum;
  lengths.minimum = config.min_new_tokens >= 0 ? prompt + config.min_new_tokens : config.min_length;
  return lengths;
}

std::vector<BiasedWord> bad_words(const GenerationConfig& config, std::string_view where) {
  std::vector<BiasedWord> words;
  words.reserve(config.bad_words_ids.size());
  for (const std::string& text : config.bad_words_ids) {
    words.push_back({ids_in(text, where, "bad_words_ids"), -std::numeric_limits<double>::infinity()});
  }
  return words;
}

std::vector<BiasedWord> biased_words(const GenerationConfig& config, std::string_view where) {
  std::vector<BiasedWord> words;
  for (const std::string& text : config.sequence_bias) {
    const std::size_t colon = text.find(':');
    const auto bias = number_of<double>(
        std::string_view(text).substr(std::min(colon, text.size()) == text.size() ? text.size() : colon + 1));
    require(colon != std::string::npos && bias && *bias < std::numeric_limits<double>::infinity(),  // not for NaN
            where, ": sequence_bias must be ids, a colon and a number, as 17,4:-2.5, found ", Quoted(text));
    BiasedWord word{ids_in(text.substr(0, colon), where, "sequence_bias"), *bias};
    std::erase_if(words, [&](const BiasedWord& other) { return other.ids == word.ids; });
    words.push_back(std::move(word));
  }
  return words;
}

std::optional<LengthDecay> length_decay(const GenerationConfig& config, std::string_view where) {
  const std::string_view text = config.exponential_decay_length_penalty;
  if (text.empty()) {
    return std::nullopt;
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto start = number_of<std::int64_t>(text.substr(0, colon));
  const auto factor = number_of<double>(text.substr(std::min(colon + 1, text.size())));
  require(start && *start >= 0 && factor && std::isfinite(*factor) && *factor > 0.0, where,
          ": exponential_decay_length_penalty must be tokens, a colon and a factor above 0, as 40:1.02, found ",
          Quoted(text));
  return LengthDecay{*start, *factor};
}

std::optional<SourceLimit> source_limit(const GenerationConfig& config, std::string_view where) {
  constexpr double kMostFactor = 1e6;
  constexpr std::int64_t kMostMore = 1 << 30;
  const std::string_view text = config.max_new_tokens_per_source;
  if (text.empty()) {
    return std::nullopt;
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto factor = number_of<double>(text.substr(0, colon));
  const auto more = number_of<std::int64_t>(text.substr(std::min(colon + 1, text.size())));
  require(factor && *factor >= 0.0 && *factor <= kMostFactor && more && *more >= 0 && *more <= kMostMore, where,
          ": max_new_tokens_per_source must be tokens for each of the source, a colon and tokens beside them, as 2:16, "
          "found ",
          Quoted(text));
  return SourceLimit{*factor, *more};
}

}  // namespace weft::generation
