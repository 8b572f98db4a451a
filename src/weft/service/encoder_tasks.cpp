// SPDX-License-Identifier: Apache-2.0
// Tasks of encoders, in the shapes of huggingface_hub: {"inputs", "parameters"} in, what the command prints as "result"
// out. Vectors and rerankers have files of their own: embedding_tasks.cpp, rerank_tasks.cpp.
#include <algorithm>
#include <memory>
#include <utility>

#include "weft/checkpoint/open_model.h"
#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/requests/encoder_parameters.h"
#include "weft/requests/request_cost.h"
#include "weft/service/served_model.h"
#include "weft/tasks/answer.h"
#include "weft/tasks/choose.h"
#include "weft/tasks/classify.h"
#include "weft/tasks/embedding/sentence_limits.h"
#include "weft/tasks/fill_mask.h"
#include "weft/tasks/restore.h"
#include "weft/tasks/tag.h"
#include "weft/tasks/viewer/view_text.h"

namespace weft::service {
namespace {

using SharedEncoder = std::shared_ptr<tasks::OpenTask>;
using Documents = std::span<const tasks::Document>;

// A body {"inputs", "parameters"}, and what its work is called: requests of one model, task and parameters.
template <typename Parameters>
struct TaskRequest {
  TaskRequest(const server::Request& request, const std::string& model, const std::string& task)
      : body(server::json_object(request)) {
    requests::require_known_members(body, {"inputs", "parameters"});
    parameters = requests::read_parameters<Parameters>(body);
    group = concat(model, "/", task, formats::to_json(parameters).dump());
  }
  formats::Json body;
  Parameters parameters;
  std::string group;
};

server::Work classify_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const TaskRequest<requests::ClassifyParameters> asked(request, name, "classify");
  tasks::ClassifyOptions options{
      .top_k = asked.parameters.top_k, .function = asked.parameters.function_to_apply, .run = task->run};
  options.run.truncate = asked.parameters.truncation;
  requests::TextInputs inputs = requests::read_texts(asked.body, "inputs", requests::kText, requests::kTextPair);
  const server::Cost cost = requests::label_cost(inputs.texts, task->model.model->config().id2label, options.top_k);
  return task_work(
      asked.group, std::move(inputs), cost,
      [task, options](Documents documents) { return tasks::classify(task->model, documents, options); },
      requests::kTruncationParameter);
}

server::Work tag_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const TaskRequest<requests::TagParameters> asked(request, name, "tag");
  const tasks::TagOptions options{.aggregation = tasks::parse_aggregation(asked.parameters.aggregation_strategy),
                                  .ignore_labels = asked.parameters.ignore_labels,
                                  .run = task->run};
  requests::TextInputs inputs = requests::read_texts(asked.body, "inputs");
  const server::Cost cost = requests::tag_cost(inputs.texts);
  return task_work(asked.group, std::move(inputs), cost,
                   [task, options](Documents documents) { return tasks::tag(task->model, documents, options); });
}

server::Work answer_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const TaskRequest<requests::AnswerParameters> asked(request, name, "answer");
  requests::TextInputs inputs = requests::read_texts(asked.body, "inputs", "question", "context");
  for (const server::Text& text : inputs.texts) {
    require(text.second.has_value(), "'inputs' must have a 'question' and a 'context'");
  }
  const tasks::AnswerTaskOptions options{.top_k = asked.parameters.top_k,
                                         .max_answer_len = asked.parameters.max_answer_len,
                                         .handle_impossible_answer = asked.parameters.handle_impossible_answer,
                                         .run = task->run};
  const server::Cost cost = requests::answer_cost(inputs.texts, options.top_k, options.max_answer_len);
  return task_work(asked.group, std::move(inputs), cost,
                   [task, options](Documents documents) { return tasks::answer(task->model, documents, options); });
}

server::Work fill_mask_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const TaskRequest<requests::FillMaskParameters> asked(request, name, "fill-mask");
  const tasks::FillMaskOptions options{
      .top_k = asked.parameters.top_k, .targets = asked.parameters.targets, .run = task->run};
  requests::TextInputs inputs = requests::read_texts(asked.body, "inputs");
  const text::HuggingFaceTokenizer& tokenizer = *task->model.tokenizer;
  const std::optional<std::int64_t> mask = tokenizer.special(text::SpecialRole::kMask);
  const auto targets = static_cast<std::int64_t>(options.targets.size());
  const std::int64_t candidates =
      std::min({options.top_k, tokenizer.vocabulary_size(), targets > 0 ? targets : options.top_k});
  const server::Cost cost =
      requests::mask_cost(inputs.texts, mask ? tokenizer.token(*mask) : "", candidates, task->model.maximum);
  return task_work(asked.group, std::move(inputs), cost,
                   [task, options](Documents documents) { return tasks::fill_masks(task->model, documents, options); });
}

// A prompt, and its choices as JSON: a text has room for two strings.
server::Text question_text(const formats::Json& value, const std::string& where) {
  require(value.is_object(), where, " must be an object with 'prompt' and 'choices', found ", value.type_name());
  requests::require_known_members(value, {"prompt", "choices"});
  const auto choices = value.find("choices");
  require(value.contains("prompt") && choices != value.end(), where, " must have a 'prompt' and 'choices'");
  require(choices->is_array() && std::ranges::all_of(*choices, [](const auto& choice) { return choice.is_string(); }),
          where, ": 'choices' must be a list of strings");
  require(choices->size() >= 2 && choices->size() <= requests::kMostChoices, where, ": 'choices' must have 2 to ",
          requests::kMostChoices, " texts, found ", choices->size());
  return {.first = requests::string_member(value, "prompt"), .second = choices->dump()};
}

requests::TextInputs read_questions(const formats::Json& body) {
  require(body.contains("inputs"), "the request has no 'inputs'");
  const formats::Json& value = body["inputs"];
  requests::TextInputs inputs{.list = value.is_array()};
  if (!inputs.list) {
    inputs.texts.push_back(question_text(value, "'inputs'"));
  } else {
    require(!value.empty(), "'inputs' is an empty list; expected at least one question");
    for (const formats::Json& one : value) {
      inputs.texts.push_back(question_text(one, concat("inputs[", inputs.texts.size(), "]")));
    }
  }
  return inputs;
}

// Each choice is read with the prompt.
server::Cost cost_of_questions(requests::Texts questions) {
  const auto most = static_cast<std::int64_t>(requests::kMostChoices);
  std::int64_t prompts = 0;
  std::int64_t choices = 0;
  for (const server::Text& question : questions) {
    prompts += static_cast<std::int64_t>(question.first.size());
    choices += static_cast<std::int64_t>(question.second.value_or("").size());
  }
  // A choice has two quotes and a comma at least.
  return requests::choice_cost(std::min(choices / 3 + 1, most * static_cast<std::int64_t>(questions.size())), choices,
                               most * prompts);
}

// One question after the other: the choices of each are a batch.
server::Work choose_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const formats::Json body = server::json_object(request);
  requests::require_known_members(body, {"inputs"});
  requests::TextInputs inputs = read_questions(body);
  const server::Cost cost = cost_of_questions(inputs.texts);
  return task_work(name + "/choose", std::move(inputs), cost, [task](Documents documents) {
    std::vector<tasks::TaskResult> results;
    for (const tasks::Document& document : documents) {
      const auto choices = formats::parse_json(document.second.value_or("[]"), document.name);
      results.push_back(tasks::choose(
          task->model, {document.first, choices.get<std::vector<std::string>>(), document.name}, task->run));
    }
    return results;
  });
}

server::Work restore_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const formats::Json body = server::json_object(request);
  requests::require_known_members(body, {"inputs"});
  requests::TextInputs inputs = requests::read_texts(body, "inputs");
  const server::Cost cost = requests::restore_cost(inputs.texts);
  return task_work(name + "/restore", std::move(inputs), cost,
                   [task](Documents documents) { return tasks::restore(task->model, documents, task->run); });
}

using MakeWork = server::Work (*)(const SharedEncoder&, const std::string&, const server::Request&);
using MakeOperation = server::Operation (*)();

struct TaskOfHead {
  models::Head head;
  const char* task;
  MakeWork make;
  MakeOperation describe;
};

constexpr TaskOfHead kTasks[] = {
    {models::Head::kSequenceClassification, "classify", classify_work, requests::classify_operation},
    {models::Head::kTokenClassification, "tag", tag_work, requests::tag_operation},
    {models::Head::kReplacedTokens, "tag", tag_work, requests::tag_operation},
    {models::Head::kQuestionAnswering, "answer", answer_work, requests::answer_operation},
    {models::Head::kMaskedLanguageModel, "fill-mask", fill_mask_work, requests::fill_mask_operation},
    {models::Head::kMultipleChoice, "choose", choose_work, requests::choose_operation},
};

}  // namespace

ServedModel serve_encoder(const std::string& name, const checkpoint::OpenedModel& directory,
                          const ServeSettings& settings) {
  const models::Head head = directory.head();
  const auto task = std::make_shared<tasks::OpenTask>(
      tasks::OpenTask{tasks::open_task_model(
                          directory, tasks::model_options(tasks::encoder_settings(settings.encoder, directory.root()))),
                      {.batch = settings.batch}});
  task->model.name = quote(name);  // in errors, which clients read
  const auto served = [&](MakeWork make, MakeOperation describe) -> ServedTask {
    return {[task, name, make](const server::Request& request) -> server::Answer { return make(task, name, request); },
            describe()};
  };
  ServedModel model{.name = name, .kind = "encoder"};
  for (const TaskOfHead& one : kTasks) {
    if (one.head == head) {
      model.tasks[one.task] = served(one.make, one.describe);
    }
  }
  if (head == models::Head::kTokenClassification && tasks::restores(task->model)) {
    model.tasks["restore"] = served(restore_work, requests::restore_operation);
  }
  if (head == models::Head::kSequenceClassification) {
    add_predict_task(model, task);
  }
  const auto sentence = checkpoint::read_sentence_directory(directory.root());
  const bool scores_pairs = sentence ? sentence->is_cross_encoder() : checkpoint::is_cross_encoder(directory);
  if (scores_pairs && sentence) {
    tasks::take_sentence_limits(task->model, *sentence, 0);
  }
  if (!scores_pairs) {
    add_embedding_tasks(model, *task, directory);
  } else if (checkpoint::is_cross_encoder(directory)) {
    add_rerank_task(model, task, directory);
  }
  model.attention = attention_task(*task->model.model, name, SecondText::kMayBe,
                                   [task](const tasks::Document& document, const tasks::ViewOptions& options) {
                                     return tasks::view_document(task->model, document, options);
                                   });
  if (const std::optional<std::int64_t> mask = task->model.tokenizer->special(text::SpecialRole::kMask)) {
    model.mask_token = task->model.tokenizer->token(*mask);
  }
  return model;
}

}  // namespace weft::service
