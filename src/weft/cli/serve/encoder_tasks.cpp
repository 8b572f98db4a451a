// SPDX-License-Identifier: Apache-2.0
// Tasks of encoders, in the shapes of huggingface_hub: {"inputs", "parameters"} in, what the command prints as "result"
// out; and {"inputs", "normalize", "truncate"} for vectors.
#include <memory>
#include <utility>

#include "weft/checkpoint/open_model.h"
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

constexpr std::int64_t kMostResults = 1 << 20;

struct ClassifyParameters {
  std::int64_t top_k = 0;
  std::string function_to_apply = "default";
  bool truncation = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ClassifyParameters;
    visit(Field{"top_k", &C::top_k, "labels, best first; 0 for all"}.range(0, kMostResults));
    visit(Field{"function_to_apply", &C::function_to_apply, "from logits to scores"}.one_of(
        {"default", "softmax", "sigmoid", "none"}));
    visit(Field{"truncation", &C::truncation, "cut texts that are too long"});
  }
};

struct TagParameters {
  std::string aggregation_strategy = "simple";
  std::vector<std::string> ignore_labels = {"O"};

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TagParameters;
    visit(Field{"aggregation_strategy", &C::aggregation_strategy, "how tokens become entities"}.one_of(
        {"none", "simple", "first", "average", "max"}));
    visit(Field{"ignore_labels", &C::ignore_labels, "labels to leave out"});
  }
};

struct AnswerParameters {
  std::int64_t top_k = 1;
  std::int64_t max_answer_len = 15;
  bool handle_impossible_answer = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = AnswerParameters;
    constexpr std::int64_t kMostTokens = 1 << 12;
    visit(Field{"top_k", &C::top_k, "answers, best first"}.range(1, kMostTokens));
    visit(Field{"max_answer_len", &C::max_answer_len, "tokens of an answer"}.range(1, kMostTokens));
    visit(Field{"handle_impossible_answer", &C::handle_impossible_answer, "no answer may win"});
  }
};

struct FillMaskParameters {
  std::int64_t top_k = 5;
  std::vector<std::string> targets;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = FillMaskParameters;
    visit(Field{"top_k", &C::top_k, "tokens, best first"}.range(1, kMostResults));
    visit(Field{"targets", &C::targets, "tokens to choose from"});
  }
};

struct EmbedMembers {
  bool normalize = true;
  bool truncate = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EmbedMembers;
    visit(Field{"normalize", &C::normalize, "vectors of length 1"});
    visit(Field{"truncate", &C::truncate, "cut texts that are too long"});
  }
};

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

struct TaskOfHead {
  models::Head head;
  const char* task;
  MakeWork make;
};

constexpr TaskOfHead kTasks[] = {
    {models::Head::kSequenceClassification, "classify", classify_work},
    {models::Head::kTokenClassification, "tag", tag_work},
    {models::Head::kQuestionAnswering, "answer", answer_work},
    {models::Head::kMaskedLanguageModel, "fill-mask", fill_mask_work},
};

}  // namespace

ServedModel serve_encoder(const std::string& name, const TaskFlags& flags) {
  const models::Head head = checkpoint::open_model(flags.directory).head();
  const auto task = std::make_shared<OpenTask>(open_task(flags, std::nullopt, "weft serve"));
  const auto handler = [&](MakeWork make) {
    return [task, name, make](const server::Request& request) -> server::Answer { return make(task, name, request); };
  };
  ServedModel model{.name = name, .kind = "encoder"};
  for (const TaskOfHead& one : kTasks) {
    if (one.head == head) {
      model.tasks[one.task] = handler(one.make);
    }
  }
  model.tasks["embed"] = handler(embed_work);
  return model;
}

}  // namespace weft::cli
