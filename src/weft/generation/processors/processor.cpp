// SPDX-License-Identifier: Apache-2.0
// The order of the processors, which is that of `transformers`.
#include "weft/generation/processors/processor.h"

#include <algorithm>
#include <string_view>

#include "weft/generation/processors/cuts.h"
#include "weft/generation/processors/ends.h"
#include "weft/generation/processors/repetition.h"
#include "weft/generation/processors/words.h"

namespace weft::generation {
namespace {

struct Builder {
  const GenerationConfig& config;
  const Lengths& lengths;
  std::vector<Processor> list = {};

  void add_if(bool wanted, Processor processor) {
    if (wanted) {
      list.push_back(std::move(processor));
    }
  }

  void add_repetition() {
    add_if(!config.sequence_bias.empty(), bias_words(biased_words(config)));
    add_if(config.encoder_repetition_penalty != 1.0, repeat_source(config.encoder_repetition_penalty));
    add_if(config.repetition_penalty != 1.0, punish_repetition(config.repetition_penalty));
    add_if(config.no_repeat_ngram_size > 0, ban_repeated_ngrams(config.no_repeat_ngram_size));
    add_if(config.encoder_no_repeat_ngram_size > 0, ban_source_ngrams(config.encoder_no_repeat_ngram_size));
    // A lone end among bad words would never let a text end: it is no bad word.
    std::vector<BiasedWord> bad = bad_words(config);
    std::erase_if(bad, [&](const BiasedWord& word) {
      return word.ids.size() == 1 &&
             std::count(config.eos_token_id.begin(), config.eos_token_id.end(), word.ids[0]) > 0;
    });
    add_if(!bad.empty(), bias_words(bad));
  }

  void add_ends(const Processor& constraint) {
    add_if(lengths.minimum > 0 && !config.eos_token_id.empty(), ban_below(lengths.minimum, config.eos_token_id));
    add_if(constraint != nullptr, constraint);
    add_if(config.forced_bos_token_id >= 0, force_at(1, {config.forced_bos_token_id}));
    add_if(!config.forced_eos_token_id.empty(), force_last(config.forced_eos_token_id));
    add_if(config.remove_invalid_values, remove_invalid());
    if (const auto decay = length_decay(config)) {
      list.push_back(raise_end(decay->start + lengths.prompt, decay->factor, config.eos_token_id));
    }
    add_if(!config.suppress_tokens.empty(), ban_tokens(config.suppress_tokens));
    // Behind a token that forced_bos_token_id forces, that is.
    const std::int64_t first = lengths.prompt + (lengths.prompt == 1 && config.forced_bos_token_id >= 0 ? 1 : 0);
    add_if(!config.begin_suppress_tokens.empty(), ban_tokens_at(first, config.begin_suppress_tokens));
  }

  void add_cuts() {
    // Beams need candidates that do not end the text.
    const auto ends = static_cast<std::int64_t>(config.eos_token_id.size());
    const std::int64_t least = config.num_beams > 1 ? std::max<std::int64_t>(1, ends) + 1 : 1;
    add_if(config.temperature != 1.0, divide_by(config.temperature));
    add_if(config.top_h > 0.0, keep_top_h(config.top_h));
    add_if(config.top_k > 0, keep_top_k(std::max(config.top_k, least)));
    add_if(config.top_p < 1.0, keep_top_p(config.top_p, least));
    add_if(config.min_p > 0.0, keep_min_p(config.min_p, least));
    add_if(config.typical_p < 1.0, keep_typical(config.typical_p, least));
    add_if(config.epsilon_cutoff > 0.0 && config.epsilon_cutoff < 1.0, keep_epsilon(config.epsilon_cutoff, least));
    add_if(config.eta_cutoff > 0.0 && config.eta_cutoff < 1.0, keep_eta(config.eta_cutoff, least));
  }
};

}  // namespace

std::vector<Processor> make_processors(const GenerationConfig& config, const Lengths& lengths, std::int64_t vocabulary,
                                       const Processor& constraint) {
  Builder builder{config, lengths};
  check_ids(config, vocabulary, [](std::string_view) { return "settings"; });
  builder.add_repetition();
  builder.add_ends(constraint);
  if (draws(config)) {
    builder.add_cuts();
  }
  builder.add_if(config.renormalize_logits, normalize());
  return std::move(builder.list);
}

}  // namespace weft::generation
