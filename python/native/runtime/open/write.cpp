// SPDX-License-Identifier: Apache-2.0
// Texts that an encoder-decoder writes: translations and summaries, by the settings of its directory with those of the
// call over them.
#include "task_call.h"
#include "weft/tasks/parameters/writing.h"

namespace weft::python {
namespace {

// A call as its three kinds of settings. The model is a copy over the same weights: who hears a text as it is written
// may ask the same model for another one, by other settings.
template <typename Config>
struct WritingCall {
  Config config;
  tasks::BatchLimits batch;
  tasks::SequenceModel model;
};

template <typename Config>
WritingCall<Config> read_writing(Opened& opened, const TaskCall& call) {
  opened.directory().need(checkpoint::Ability::kWrite);
  require(!call.given.contains("max_source_length"), call.task,
          ": max_source_length belongs to the model: give it to open");
  WritingCall<Config> asked;
  tasks::SequenceRunConfig run;
  generation::GenerationConfig settings;
  read_given(call, run, asked.config, settings);
  const auto given = formats::only_fields_of<generation::GenerationConfig>(call.given);
  asked.batch = {run.batch_size, run.batch_tokens};
  asked.model = opened.pair(opened.generation(given, call.task));
  return asked;
}

}  // namespace

Results translate(Opened& model, const TaskCall& call) {
  const auto asked = read_writing<tasks::TranslateConfig>(model, call);
  tasks::TranslateOptions options = tasks::translate_options(asked.config, asked.model, asked.batch);
  if (call.takes) {
    options.on_translated = [&](std::size_t, std::string_view text, std::string_view) {
      return call.takes(std::string(text));
    };
  }
  return tasks::translate(asked.model, call.documents, options);
}

Results summarize(Opened& model, const TaskCall& call) {
  require(!call.given.contains("document"), call.task, ": document is for files; each text is read whole");
  const auto asked = read_writing<tasks::SummarizeConfig>(model, call);
  tasks::SummarizeOptions options{.truncate = asked.config.truncate, .batch = asked.batch};
  if (call.takes) {
    options.on_summarized = [&](std::size_t, std::string_view text) { return call.takes(std::string(text)); };
  }
  return tasks::summarize(asked.model, call.documents, options);
}

}  // namespace weft::python
