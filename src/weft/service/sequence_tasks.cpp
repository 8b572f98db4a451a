// SPDX-License-Identifier: Apache-2.0
// Translation and summaries. A translation may be asked for in three shapes, each answered in its own: {"source_lang",
// "target_lang", "text"}, LibreTranslate's {"q", "source", "target"}, and huggingface_hub's {"inputs", "parameters"}.
#include <memory>
#include <optional>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/generation/settings/read_settings.h"
#include "weft/requests/request_cost.h"
#include "weft/requests/sequence_parameters.h"
#include "weft/server/forms/form_body.h"
#include "weft/service/memory_account.h"
#include "weft/service/served_model.h"
#include "weft/tasks/sequences/languages.h"
#include "weft/tasks/sequences/summarize.h"
#include "weft/tasks/sequences/translate.h"
#include "weft/tasks/viewer/view_text.h"
#include "weft/text/sentences/sentences.h"

namespace weft::service {
namespace {

using SharedPair = std::shared_ptr<ServedPair>;
using Documents = std::span<const tasks::Document>;
using TaskResults = std::vector<formats::Json>;

// A request in any of the shapes.
struct TranslateRequest {
  requests::TextInputs inputs;
  std::string source;
  std::string target;
  const char* target_member = "'target_lang'";  // for messages
  std::function<formats::Json(TaskResults results)> shape;
};

// The best translation of each text; only it where the texts were no list.
formats::Json best_texts(const TaskResults& results, bool list) {
  formats::Json texts = formats::Json::array();
  for (const formats::Json& result : results) {
    texts.push_back(result.front()["translation_text"]);
  }
  return list ? texts : formats::Json(texts.front());
}

TranslateRequest plain_shape(const formats::Json& body) {
  requests::require_known_members(body, {"source_lang", "target_lang", "text", "stream"});
  TranslateRequest request{.inputs = requests::read_texts(body, "text"),
                           .source = requests::string_member(body, "source_lang"),
                           .target = requests::string_member(body, "target_lang")};
  request.shape = [source = request.source, target = request.target, list = request.inputs.list](TaskResults results) {
    return formats::Json{{"source_lang", source}, {"target_lang", target}, {"translation", best_texts(results, list)}};
  };
  return request;
}

TranslateRequest libre_shape(const formats::Json& body) {
  requests::require_known_members(body, {"q", "source", "target", "format", "alternatives", "api_key", "stream"});
  requests::string_member(body, "api_key");  // which was looked at where keys are asked for
  const std::string format = requests::string_member(body, "format");
  require(format.empty() || format == "text", "'format' is ", Quoted(format), "; expected 'text'");
  const auto alternatives = body.find("alternatives");
  require(alternatives == body.end() || *alternatives == 0,
          "'alternatives' must be 0: Weft gives the best translation");
  TranslateRequest request{.inputs = requests::read_texts(body, "q"),
                           .source = requests::string_member(body, "source"),
                           .target = requests::string_member(body, "target"),
                           .target_member = "'target'"};
  request.shape = [list = request.inputs.list](TaskResults results) {
    return formats::Json{{"translatedText", best_texts(results, list)}};
  };
  return request;
}

TranslateRequest hub_shape(const formats::Json& body) {
  requests::require_known_members(body, {"inputs", "parameters", "stream"});
  const auto parameters = requests::read_parameters<requests::TranslateParameters>(body);
  TranslateRequest request{.inputs = requests::read_texts(body, "inputs"),
                           .source = parameters.src_lang,
                           .target = parameters.tgt_lang,
                           .target_member = "'tgt_lang' in 'parameters'"};
  request.shape = [](TaskResults results) {
    formats::Json all = formats::Json::array();
    for (const formats::Json& result : results) {
      for (const formats::Json& text : result) {
        all.push_back({{"translation_text", text["translation_text"]}});
      }
    }
    return all;
  };
  return request;
}

// A form, which LibreTranslate's clients may send, has strings where JSON has numbers.
formats::Json read_body(const server::Request& request) {
  formats::Json body = server::json_or_form(request);
  const auto alternatives = body.find("alternatives");
  if (alternatives != body.end() && *alternatives == "0") {
    *alternatives = 0;
  }
  return body;
}

TranslateRequest in_its_shape(const formats::Json& body) {
  if (body.contains("q")) {
    return libre_shape(body);
  }
  if (body.contains("inputs")) {
    return hub_shape(body);
  }
  require(body.contains("text"), "the request has no 'text', 'q' or 'inputs'");
  return plain_shape(body);
}

// "auto" leaves the language of the sources to the server. Weft recognises none: the model is not asked about it.
TranslateRequest read_translate(const formats::Json& body) {
  TranslateRequest request = in_its_shape(body);
  if (request.source == "auto") {
    request.source.clear();
  }
  return request;
}

// Line ends end sentences, as in the texts of `weft translate`.
std::vector<text::SentencePlace> sentences_of(std::string_view document) {
  return text::find_sentences(document, text::SentenceRules{.lines = true});
}

// A model of several languages must know the one of each text: from the request, or from the text's own code.
void require_target(const tasks::SequenceModel& model, const TranslateRequest& request) {
  if (!request.target.empty()) {
    return;
  }
  if (const text::FramedLanguages* const known = model.tokenizer->framed_languages(); known != nullptr) {
    require(!known->target.empty(), model.name, " writes several languages: name one in ", request.target_member,
            "; it has ", [&] { return tasks::some_languages(*known); });
    return;
  }
  const std::vector<std::string> codes = model.tokenizer->language_codes();
  if (codes.empty()) {
    return;
  }
  for (const server::Text& text : request.inputs.texts) {
    require(!tasks::own_code(text.first, codes).empty(), model.name, " writes several languages: name one in ",
            request.target_member, ", or begin each text with its >>code<<; it has ",
            [&] { return tasks::some_codes(codes); });
  }
}

// The pair of languages of a request, as far as the model's directory names its own: what it does not name cannot be
// checked, and a line in the log for each request would say no more.
std::optional<std::string> checked_code(const tasks::SequenceModel& model, const TranslateRequest& request) {
  const bool many = !model.tokenizer->language_codes().empty();
  return tasks::language_code(model, model.source_language.empty() ? "" : request.source,
                              !many && model.target_language.empty() ? "" : request.target);
}

// What texts that are translated together have in common.
std::string languages_in_words(const std::optional<tasks::AskedLanguages>& asked) {
  std::string words;
  if (asked) {
    for (const std::vector<std::int64_t>& ids : {asked->frame.before, asked->frame.behind, {asked->target.id}}) {
      for (const std::int64_t id : ids) {
        words += concat(id, " ");
      }
    }
  }
  return words;
}

// Sentence by sentence, for a client that reads along.
server::Work translation_in_pieces(const SharedPair& task, const std::string& name, TranslateRequest asked,
                                   const tasks::TranslateOptions& options) {
  server::Work work{.group = name + "/translate",
                    .texts = asked.inputs.texts,
                    .cost = requests::translate_cost(asked.inputs.texts),
                    .streams = true};
  work.run = [task, options, asked = std::move(asked)](const server::Listener& listener) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    tasks::TranslateOptions told = options;
    told.on_translated = [&](std::size_t index, std::string_view text, std::string_view source) {
      return listener.send({{"index", index}, {"text", text}, {"source", source}});
    };
    return asked.shape(plain_results(tasks::translate(task->model, named_documents(asked.inputs.texts), told)));
  };
  return work;
}

server::Work translate_work(const SharedPair& task, const std::string& name, const server::Request& request) {
  const formats::Json body = read_body(request);
  TranslateRequest asked = read_translate(body);
  require_target(task->model, asked);
  const tasks::TranslateOptions options{.code = checked_code(task->model, asked),
                                        .languages = tasks::framed_languages(task->model, asked.source, asked.target),
                                        .split = sentences_of,
                                        .batch = task->run.batch};
  if (requests::wants_pieces(body) || request.takes_events) {
    return translation_in_pieces(task, name, std::move(asked), options);
  }
  const server::Cost cost = requests::translate_cost(asked.inputs.texts);
  server::Work work =
      task_work(concat(name, "/translate ", options.code.value_or(languages_in_words(options.languages))),
                std::move(asked.inputs), cost,
                [task, options](Documents documents) { return tasks::translate(task->model, documents, options); });
  work.finish = std::move(asked.shape);
  return work;
}

// A summary, sentence by sentence, for a client that reads along.
server::Work summary_in_pieces(const SharedPair& task, const std::string& name, requests::TextInputs inputs,
                               const server::Cost& cost, const tasks::SummarizeOptions& options) {
  server::Work work{.group = name + "/summarize", .texts = inputs.texts, .cost = cost, .streams = true};
  work.run = [task, options, inputs = std::move(inputs)](const server::Listener& listener) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    tasks::SummarizeOptions told = options;
    told.on_summarized = [&](std::size_t index, std::string_view text) {
      return listener.send({{"index", index}, {"text", text}});
    };
    try {
      TaskResults results = plain_results(tasks::summarize(task->model, named_documents(inputs.texts), told));
      return inputs.list ? formats::Json(std::move(results)) : std::move(results.front());
    } catch (const tasks::TextTooLong& error) {
      refuse_length(error, concat(requests::kTruncationParameter, " cuts the text there"));
    }
  };
  return work;
}

server::Work summarize_work(const SharedPair& task, const std::string& name, const WrittenTexts& written,
                            const server::Request& request) {
  const formats::Json body = server::json_object(request);
  requests::require_known_members(body, {"inputs", "parameters", "stream"});
  const tasks::SummarizeOptions options{
      .truncate = requests::read_parameters<requests::SummarizeParameters>(body).truncation, .batch = task->run.batch};
  requests::TextInputs inputs = requests::read_texts(body, "inputs");
  const server::Cost cost = requests::summarize_cost(inputs.texts, written.returned, written.longest);
  if (requests::wants_pieces(body) || request.takes_events) {
    return summary_in_pieces(task, name, std::move(inputs), cost, options);
  }
  return task_work(
      concat(name, "/summarize ", options.truncate), std::move(inputs), cost,
      [task, options](Documents documents) { return tasks::summarize(task->model, documents, options); },
      requests::kTruncationParameter);
}

// [{"code", "name", "targets"}]. Weft knows no names of languages but their codes; a source without one is "auto".
formats::Json languages_of(const tasks::SequenceModel& model) {
  formats::Json targets = formats::Json::array();
  if (const text::FramedLanguages* const known = model.tokenizer->framed_languages(); known != nullptr) {
    formats::Json all = formats::Json::array();
    for (const auto& [code, id] : known->ids) {
      targets.push_back(code);
    }
    for (const formats::Json& code : targets) {
      all.push_back({{"code", code}, {"name", code}, {"targets", targets}});
    }
    return all;
  }
  for (const std::string& code : model.tokenizer->language_codes()) {
    targets.push_back(code.substr(2, code.size() - 4));  // >>de<<
  }
  if (targets.empty() && !model.target_language.empty()) {
    targets.push_back(model.target_language);
  }
  const std::string source = model.source_language.empty() ? "auto" : model.source_language;
  return formats::Json::array({formats::Json{{"code", source}, {"name", source}, {"targets", targets}}});
}

// How texts are written where no request says otherwise: as the directory says, checked before a weight is read.
generation::GenerationConfig usual_settings(const checkpoint::OpenedModel& directory) {
  directory.need(checkpoint::Ability::kWrite);
  const generation::GenerationConfig settings = tasks::with_length(generation::read_settings(directory), directory);
  generation::check_settings(settings, directory, [&](std::string_view field) {
    return generation::file_of_setting(directory.path(), field);
  });
  return settings;
}

}  // namespace

ServedModel serve_encoder_decoder(const std::string& name, const checkpoint::OpenedModel& directory,
                                  const ServeSettings& settings) {
  const auto task = std::make_shared<ServedPair>(
      ServedPair{tasks::open_sequence_model(
                     directory, tasks::sequence_options(tasks::encoder_settings(settings.encoder, directory.path()),
                                                        usual_settings(directory))),
                 {.batch = settings.batch}});
  task->model.name = quote(name);  // in errors, which clients read
  ServedModel model{.name = name, .kind = "encoder-decoder", .languages = languages_of(task->model)};
  const auto translates = [task, name](const server::Request& request) -> server::Answer {
    return translate_work(task, name, request);
  };
  const WrittenTexts written = written_texts(directory);
  const auto summarizes = [task, name, written](const server::Request& request) -> server::Answer {
    return summarize_work(task, name, written, request);
  };
  model.tasks["translate"] = {translates, requests::translate_operation()};
  model.tasks["summarize"] = {summarizes, requests::summarize_operation()};
  model.tasks["align"] = align_task(name, task);
  model.attention =
      attention_task(*tasks::writing_model(*task->model.writer).model, name, SecondText::kNeeded,
                     [task](const tasks::Document& document, const tasks::ViewOptions& options) {
                       const tasks::WritingModel writes = tasks::writing_model(*task->model.writer);
                       return tasks::view_pair(task->model, writes.model, writes.start, document, options);
                     });
  return model;
}

}  // namespace weft::service
