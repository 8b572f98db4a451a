// SPDX-License-Identifier: Apache-2.0
// Summaries made of a text's own sentences, by methods that need no model: what a trained one is compared with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/tasks/task_run.h"
#include "weft/text/sentences/sentences.h"

namespace weft::tasks {

struct ExtractConfig {
  std::string method;
  std::int64_t sentences = 3;
  std::int64_t words = 0;
  std::int64_t seed = 0;
  text::SentenceRules rules = {};  ///< whether a line end ends a sentence

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ExtractConfig;
    visit(Field{"method", &C::method,
                "take sentences of the text by this method, without a model: the first ones, SumBasic, LexRank (with a "
                "threshold, or with cosines as weights), LSA, those that come nearest to a reference, or any"}
              .one_of({"", "lead", "sumbasic", "lexrank", "lexrank-continuous", "lsa", "oracle", "random"}));
    visit(Field{"sentences", &C::sentences, "with --method: sentences to take at most"}.range(1, 1 << 20));
    visit(Field{"words", &C::words,
                "with --method: words to take at most, in whole sentences, but always one sentence; 0 for any number"}
              .at_least(0));
    visit(Field{"random_seed", &C::seed, "with --method random: seed of the choice"}.at_least(0));
  }
};

/// For each document `[{"summary_text", "sentences"}]`: the sentences that were taken, in the text's order with a blank
/// between and a blank for a line end within, and their numbers from 0. The method takes one after another; the first
/// that would go beyond a limit ends the summary. `oracle` takes, each time, the sentence that adds most to the sum of
/// ROUGE-1's and ROUGE-2's F against the document's second text, until none adds anything. Metadata: {"sentences"}, how
/// many the text has. Errors: naming the document, kArgument for one without a sentence, or without a reference for
/// `oracle`; those of the method. A byte that is no UTF-8 is read as U+FFFD, as by models.
std::vector<TaskResult> extract(std::span<const Document> documents, const ExtractConfig& config);

}  // namespace weft::tasks
