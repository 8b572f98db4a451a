// SPDX-License-Identifier: Apache-2.0
// Tasks of encoders, in the shapes of huggingface_hub: {"inputs", "parameters"} in, what the command prints as "result"
// out; and {"inputs", "normalize", "truncate"} for vectors.
#include <memory>
#include <utility>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/serve/encoder_parameters.h"
#include "weft/cli/serve/served_model.h"
#include "weft/core/error.h"
#include "weft/tasks/answer.h"
#include "weft/tasks/classify.h"
#include "weft/tasks/embed.h"
#include "weft/tasks/fill_mask.h"
#include "weft/tasks/tag.h"

namespace weft::cli {
namespace {

using SharedEncoder = std::shared_ptr<OpenTask>;
using Documents = std::span<const tasks::Document>;

// A body {"inputs", "parameters"}, and what its work is called: requests of one model, task and parameters.
template <typename Parameters>
struct TaskRequest {
  TaskRequest(const server::Request& request, const std::string& model, const std::string& task)
      : body(server::json_object(request)) {
    require_known_members(body, {"inputs", "parameters"});
    parameters = read_parameters<Parameters>(body);
    group = concat(model, "/", task, formats::to_json(parameters).dump());
  }
  formats::Json body;
  Parameters parameters;
  std::string group;
};

server::Work classify_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const TaskRequest<ClassifyParameters> asked(request, name, "classify");
  tasks::ClassifyOptions options{
      .top_k = asked.parameters.top_k, .function = asked.parameters.function_to_apply, .run = task->run};
  options.run.truncate = asked.parameters.truncation;
  return task_work(asked.group, read_texts(asked.body, "inputs"),
                   [task, options](Documents documents) { return tasks::classify(task->model, documents, options); });
}

server::Work tag_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const TaskRequest<TagParameters> asked(request, name, "tag");
  const tasks::TagOptions options{.aggregation = tasks::parse_aggregation(asked.parameters.aggregation_strategy),
                                  .ignore_labels = asked.parameters.ignore_labels,
                                  .run = task->run};
  return task_work(asked.group, read_texts(asked.body, "inputs"),
                   [task, options](Documents documents) { return tasks::tag(task->model, documents, options); });
}

server::Work answer_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const TaskRequest<AnswerParameters> asked(request, name, "answer");
  TextInputs inputs = read_texts(asked.body, "inputs", "question", "context");
  for (const server::Text& text : inputs.texts) {
    require(text.second.has_value(), "'inputs' must have a 'question' and a 'context'");
  }
  const tasks::AnswerTaskOptions options{.top_k = asked.parameters.top_k,
                                         .max_answer_len = asked.parameters.max_answer_len,
                                         .handle_impossible_answer = asked.parameters.handle_impossible_answer,
                                         .run = task->run};
  return task_work(asked.group, std::move(inputs),
                   [task, options](Documents documents) { return tasks::answer(task->model, documents, options); });
}

server::Work fill_mask_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const TaskRequest<FillMaskParameters> asked(request, name, "fill-mask");
  const tasks::FillMaskOptions options{
      .top_k = asked.parameters.top_k, .targets = asked.parameters.targets, .run = task->run};
  return task_work(asked.group, read_texts(asked.body, "inputs"),
                   [task, options](Documents documents) { return tasks::fill_masks(task->model, documents, options); });
}

// As text-embeddings-inference: a list of vectors, also for one text.
server::Work embed_work(const SharedEncoder& task, const std::string& name, const server::Request& request) {
  const formats::Json body = server::json_object(request);
  EmbedMembers members;
  formats::update_from_json(members, body, "the request", {"inputs"});
  tasks::EmbedOptions options{.normalize = members.normalize, .run = task->run};
  options.run.truncate = members.truncate;
  TextInputs inputs = read_texts(body, "inputs");
  inputs.list = true;
  return task_work(concat(name, "/embed", formats::to_json(members).dump()), std::move(inputs),
                   [task, options](Documents documents) { return tasks::embed(task->model, documents, options); });
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
    {models::Head::kSequenceClassification, "classify", classify_work, classify_operation},
    {models::Head::kTokenClassification, "tag", tag_work, tag_operation},
    {models::Head::kQuestionAnswering, "answer", answer_work, answer_operation},
    {models::Head::kMaskedLanguageModel, "fill-mask", fill_mask_work, fill_mask_operation},
};

}  // namespace

ServedModel serve_encoder(const std::string& name, const TaskFlags& flags) {
  const models::Head head = checkpoint::open_model(flags.directory).head();
  const auto task = std::make_shared<OpenTask>(open_task(flags, std::nullopt, "weft serve"));
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
  model.tasks["embed"] = served(embed_work, embed_operation);
  model.attention = attention_task(name, task);
  if (const std::optional<std::int64_t> mask = task->model.tokenizer->special(text::SpecialRole::kMask)) {
    model.mask_token = task->model.tokenizer->token(*mask);
  }
  return model;
}

}  // namespace weft::cli
