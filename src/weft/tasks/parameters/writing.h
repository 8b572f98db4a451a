// SPDX-License-Identifier: Apache-2.0
// What may be said of tasks that write texts, besides the settings of the search.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/fields.h"
#include "weft/tasks/sequences/summarize.h"
#include "weft/tasks/sequences/translate.h"

namespace weft::tasks {

/// Sources and batches.
struct SequenceRunConfig {
  std::int64_t max_source_length = 0;
  std::int64_t batch_size = 16;
  std::int64_t batch_tokens = 16384;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = SequenceRunConfig;
    visit(Field{"max_source_length", &C::max_source_length,
                "longest text that the model reads at once, in tokens with special ones; 0 for as long as it can"}
              .at_least(0));
    visit(Field{"batch_size", &C::batch_size,
                "texts or sentences that are written together; with 1 each line is answered as soon as it is read"}
              .range(1, 1 << 16));
    visit(Field{"batch_tokens", &C::batch_tokens, "tokens that are read together at most, padding included"}.range(
        1, 1 << 30));
  }
};

struct TranslateConfig {
  std::string source_lang;
  std::string target_lang;
  bool split_sentences = true;
  bool document = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TranslateConfig;
    visit(Field{
        "source_lang", &C::source_lang,
        "language of the texts: eng_Latn, en_XX, en for a model of many; else checked against the one that the model "
        "names"});
    visit(Field{"target_lang", &C::target_lang,
                "language to write, as the model's vocabulary has it: fr for >>fr<<; a text that begins with >>fr<< "
                "says it itself"});
    visit(Field{"split_sentences", &C::split_sentences,
                "translate sentence by sentence; otherwise each text whole, which must not be too long"});
    visit(Field{"document", &C::document,
                "a whole file is one text, whose sentences may go over lines; blank lines stay"});
  }
};

/// Errors: kArgument for languages that `model` does not have.
TranslateOptions translate_options(const TranslateConfig& config, const SequenceModel& model, const BatchLimits& batch);

struct SummarizeConfig {
  bool truncate = false;
  bool document = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = SummarizeConfig;
    visit(Field{"truncate", &C::truncate, "cut texts that are too long for the model"});
    visit(Field{"document", &C::document, "a whole file is one text"});
  }
};

}  // namespace weft::tasks
