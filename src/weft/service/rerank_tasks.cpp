// SPDX-License-Identifier: Apache-2.0
// Cross-encoders: texts in the order of how well they answer a query; and the labels of any classifier in the shape of
// text-embeddings-inference.
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/InferenceMode.h>

#include "weft/core/error.h"
#include "weft/requests/request_cost.h"
#include "weft/requests/shapes/rerank_shapes.h"
#include "weft/requests/shapes/tei_shapes.h"
#include "weft/requests/shapes/vector_result.h"
#include "weft/service/served_model.h"
#include "weft/tasks/classify.h"
#include "weft/tasks/rerank.h"

namespace weft::service {
namespace {

using formats::Json;
using SharedClassifier = std::shared_ptr<tasks::OpenTask>;

server::Work rerank_work(const SharedClassifier& task, const std::string& name,
                         const checkpoint::CrossEncoderSettings& settings, requests::RerankBody body) {
  tasks::RerankOptions options{
      .settings = settings, .raw_scores = body.raw_scores, .windows = !body.truncate, .run = task->run};
  options.run.truncate = body.truncate;
  server::Work work{.group = concat(name, "/rerank ", body.raw_scores, body.truncate), .texts = {}};
  work.cost = requests::pair_cost(body.pairs, body.return_text);
  work.texts = body.return_text ? body.pairs : std::exchange(body.pairs, {});  // the answer has the texts, or not
  work.compute = [task, options](std::span<const server::Text> pairs) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    std::vector<Json> results;
    try {
      for (tasks::TaskResult& one : tasks::score_pairs(task->model, named_documents(pairs), options)) {
        results.push_back(requests::counted_result(std::move(one.result), one.metadata));
      }
    } catch (const tasks::TextTooLong& error) {
      refuse_length(error, "'truncate' cuts the texts there");
    }
    return results;
  };
  work.headers = requests::token_fields;
  work.finish = [name, body = std::move(body)](const std::vector<Json>& results) {
    return requests::rerank_answer(body, name, results);
  };
  return work;
}

server::Work predict_work(const SharedClassifier& task, const std::string& name, const server::Request& request) {
  requests::PredictBody body = requests::read_predict_body(server::json_object(request));
  const std::vector<std::string>& labels = task->model.model->config().id2label;
  const char* function = body.raw_scores ? "none" : labels.size() > 1 ? "softmax" : "sigmoid";
  tasks::ClassifyOptions options{.top_k = 0, .function = function, .run = task->run};
  options.run.truncate = body.truncate;
  const server::Cost cost = requests::label_cost(body.texts, labels, options.top_k);
  return task_work(
      concat(name, "/predict ", function, body.truncate), {.texts = std::move(body.texts), .list = body.list}, cost,
      [task, options](std::span<const tasks::Document> documents) {
        std::vector<tasks::TaskResult> results = tasks::classify(task->model, documents, options);
        for (tasks::TaskResult& one : results) {
          for (Json& label : one.result) {
            label = {{"score", label["score"]}, {"label", label["label"]}};
          }
        }
        return results;
      },
      "'truncate'");
}

Json label_info(const tasks::TaskModel& model, const char* type) {
  Json names = Json::object();
  Json places = Json::object();
  for (const std::string& label : model.model->config().id2label) {
    places[label] = names.size();
    names[std::to_string(names.size())] = label;
  }
  return {{"model_type", {{type, {{"id2label", std::move(names)}, {"label2id", std::move(places)}}}}},
          {"model_dtype", tasks::product_type(model)},
          {"max_input_length", model.maximum}};
}

}  // namespace

void add_predict_task(ServedModel& model, const std::shared_ptr<tasks::OpenTask>& task) {
  const auto handle = [task, name = model.name](const server::Request& request) -> server::Answer {
    return predict_work(task, name, request);
  };
  model.shapes["predict"] = {handle, requests::predict_operation()};
  model.root = model.shapes["predict"];
  model.info = label_info(task->model, "classifier");
}

void add_rerank_task(ServedModel& model, const std::shared_ptr<tasks::OpenTask>& task,
                     const checkpoint::OpenedModel& directory) {
  const checkpoint::CrossEncoderSettings settings = checkpoint::read_cross_encoder(directory);
  const auto answers = [&](requests::RerankBody (*read)(const Json&)) -> BodyHandler {
    return [task, settings, read, name = model.name](const Json& body) -> server::Answer {
      return rerank_work(task, name, settings, read(body));
    };
  };
  model.tasks["rerank"] = {reads_body(answers(requests::read_rerank_body)), requests::rerank_operation()};
  model.chosen["rerank"] = {answers(requests::read_documents_body), requests::documents_operation()};
  model.root = model.tasks["rerank"];
  model.info = label_info(task->model, "reranker");
}

}  // namespace weft::service
