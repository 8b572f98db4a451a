// SPDX-License-Identifier: Apache-2.0
// Languages are checked here, before a text is read.
#include "weft/tasks/parameters/writing.h"

#include "weft/text/sentences/sentences.h"

namespace weft::tasks {

TranslateOptions translate_options(const TranslateConfig& config, const SequenceModel& model,
                                   const BatchLimits& batch) {
  TranslateOptions options;
  options.code = language_code(model, config.source_lang, config.target_lang);
  options.languages = framed_languages(model, config.source_lang, config.target_lang);
  options.batch = batch;
  if (config.split_sentences) {
    options.split = [rules = text::SentenceRules{.lines = !config.document}](std::string_view document) {
      return text::find_sentences(document, rules);
    };
  }
  return options;
}

}  // namespace weft::tasks
