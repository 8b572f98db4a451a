// SPDX-License-Identifier: Apache-2.0
// Texts to documents, results to answers, and what errors call a model and its texts.
#include "weft/service/served_model.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "weft/core/error.h"
#include "weft/server/http_error.h"
#include "weft/service/memory_account.h"

namespace weft::service {
namespace {

// `text` with `name` in place of the directory's path. A bare name says nothing about this machine, and could be a
// word.
std::string without_path(std::string text, const std::string& directory, const std::string& name) {
  if (directory.find('/') == std::string::npos) {
    return text;
  }
  for (std::size_t at = text.find(directory); at != std::string::npos; at = text.find(directory, at + name.size())) {
    text.replace(at, directory.size(), name);
  }
  return text;
}

// What `work` gives. Its errors, which a client reads, say how the model is called here, and not where it lies.
template <typename Result>
Result as_served(const std::function<Result()>& work, const std::string& directory, const std::string& name) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), without_path(error.what(), directory, name), without_path(error.hint(), directory, name));
  }
}

// For handlers of requests, and for those of their bodies.
template <typename Asked>
std::function<server::Answer(const Asked&)> with_served_name(std::function<server::Answer(const Asked&)> handle,
                                                             const std::string& directory, const std::string& name) {
  return [handle = std::move(handle), directory, name](const Asked& asked) {
    auto answer = as_served<server::Answer>([&] { return handle(asked); }, directory, name);
    if (auto* work = std::get_if<server::Work>(&answer); work != nullptr && work->compute) {
      work->compute = [compute = std::move(work->compute), directory, name](std::span<const server::Text> texts) {
        return as_served<std::vector<formats::Json>>([&] { return compute(texts); }, directory, name);
      };
    } else if (work != nullptr && work->run) {
      work->run = [run = std::move(work->run), directory, name](const server::Listener& listener) {
        return as_served<formats::Json>([&] { return run(listener); }, directory, name);
      };
    }
    return answer;
  };
}

}  // namespace

std::vector<tasks::Document> named_documents(std::span<const server::Text> texts) {
  std::vector<tasks::Document> documents;
  documents.reserve(texts.size());
  for (const server::Text& text : texts) {
    documents.push_back({.first = text.first,
                         .second = text.second,
                         .name = texts.size() == 1 ? "the text" : concat("text ", documents.size() + 1),
                         .place = text.place});
  }
  return documents;
}

void name_errors(ServedModel& model, const std::filesystem::path& path) {
  for (std::map<std::string, ServedTask>* tasks : {&model.tasks, &model.shapes}) {
    for (auto& [task, served] : *tasks) {
      served.handle = with_served_name(std::move(served.handle), path.native(), model.name);
    }
  }
  for (auto& [task, chosen] : model.chosen) {
    chosen.answer = with_served_name(std::move(chosen.answer), path.native(), model.name);
  }
  for (std::optional<ServedTask>* served : {&model.attention, &model.root}) {
    if (*served) {
      (*served)->handle = with_served_name(std::move((*served)->handle), path.native(), model.name);
    }
  }
}

server::Handler reads_body(BodyHandler answer) {
  return [answer = std::move(answer)](const server::Request& request) { return answer(server::json_object(request)); };
}

std::vector<formats::Json> plain_results(std::vector<tasks::TaskResult> results) {
  std::vector<formats::Json> all;
  all.reserve(results.size());
  for (tasks::TaskResult& result : results) {
    all.push_back(std::move(result.result));
  }
  return all;
}

void refuse_length(const tasks::TextTooLong& error, const std::string& advice) {
  throw server::HttpError(server::status::kTooLarge, "too_large",
                          advice.empty() ? error.what() : concat(error.what(), "; ", advice));
}

server::Work task_work(std::string group, requests::TextInputs inputs, const server::Cost& cost,
                       std::function<std::vector<tasks::TaskResult>(std::span<const tasks::Document>)> run,
                       const std::string& cut) {
  server::Work work;
  work.group = std::move(group);
  work.texts = std::move(inputs.texts);
  work.cost = cost;
  work.compute = [run = std::move(run), cut](std::span<const server::Text> texts) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    try {
      return plain_results(run(named_documents(texts)));
    } catch (const tasks::TextTooLong& error) {
      refuse_length(error, cut.empty() ? cut : cut + " cuts the text there");
    }
  };
  work.finish = [list = inputs.list](std::vector<formats::Json> results) {
    return list ? formats::Json(std::move(results)) : std::move(results.front());
  };
  return work;
}

namespace {

using checkpoint::Ability;
using checkpoint::Way;

// How models of one ability are served, and how many tokens they read together.
struct Serving {
  std::int64_t read_together;
  ServedModel (*open)(const std::string& name, const checkpoint::OpenedModel& directory, const ServeSettings& settings);
};
constexpr std::array kServings{Way<Serving>{Ability::kWrite, {kReadToWrite, serve_encoder_decoder}},
                               Way<Serving>{Ability::kRead, {kReadTogether, serve_encoder}},
                               Way<Serving>{Ability::kContinue, {kReadTogether, serve_decoder}}};

}  // namespace

ServedModel open_served_model(const std::string& name, const checkpoint::OpenedModel& directory,
                              const ServeSettings& settings) {
  const Serving& serving = way_of(directory, kServings);
  ServeSettings its = settings;
  its.batch.tokens = serving.read_together;
  ServedModel model = serving.open(name, directory, its);
  name_errors(model, directory.root());
  return model;
}

}  // namespace weft::service
