// SPDX-License-Identifier: Apache-2.0
// Vectors in the shapes of text-embeddings-inference, of OpenAI and of llama.cpp. All of them are one kind of work, so
// that requests of different clients are computed together; each makes its own answer of the vectors.
#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/InferenceMode.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/requests/request_cost.h"
#include "weft/requests/shapes/embeddings_shape.h"
#include "weft/requests/shapes/llama_shape.h"
#include "weft/requests/shapes/tei_shapes.h"
#include "weft/requests/shapes/vector_result.h"
#include "weft/server/schemas.h"
#include "weft/service/served_model.h"
#include "weft/tasks/embedding/embedder.h"

namespace weft::service {
namespace {

using formats::Json;

struct ServedEmbedder {
  tasks::Embedder embedder;
  tasks::RunOptions run;
  requests::EmbedderFacts facts;
};
using SharedEmbedder = std::shared_ptr<ServedEmbedder>;

// What one request says, and whether its inputs are ids.
struct VectorsWanted {
  tasks::EmbedRun run;
  bool ids = false;
};

VectorsWanted wanted_of(const ServedEmbedder& served, const requests::EmbedInputs& inputs,
                        const requests::TeiOptions& options) {
  VectorsWanted wanted{.run = {.run = served.run, .request = {.prompt_name = options.prompt_name}}, .ids = inputs.ids};
  wanted.run.run.truncate = options.truncate;
  return wanted;
}

// Requests with one of these are computed together.
std::string group_of(const ServedEmbedder& served, const char* what, const VectorsWanted& wanted) {
  const tasks::EmbedRequest& request = wanted.run.request;
  const Json key = {wanted.ids, wanted.run.run.truncate, formats::or_null(request.normalize),
                    formats::or_null(request.dimensions), formats::or_null(request.prompt_name)};
  return concat(served.facts.name, "/", what, key.dump());
}

// `ids` without a special token at each end, if there is one.
std::vector<std::int64_t> inner_ids(const text::HuggingFaceTokenizer& tokenizer, std::vector<std::int64_t> ids) {
  using text::SpecialRole;
  const auto is = [&](std::int64_t id, SpecialRole one, SpecialRole other) {
    return tokenizer.special(one) == id || tokenizer.special(other) == id;
  };
  if (!ids.empty() && is(ids.front(), SpecialRole::kClass, SpecialRole::kBegin)) {
    ids.erase(ids.begin());
  }
  if (!ids.empty() && is(ids.back(), SpecialRole::kSeparator, SpecialRole::kEnd)) {
    ids.pop_back();
  }
  return ids;
}

// The text that has these tokens, with or without the special ones around it. Ids that no text has are those of another
// tokeniser, or were cut out of the middle of a word.
std::string text_of_ids(const text::HuggingFaceTokenizer& tokenizer, const std::vector<std::int64_t>& ids,
                        const std::string& where, const requests::EmbedderFacts& facts) {
  std::string inner = tokenizer.decode(inner_ids(tokenizer, ids), false);
  if (const auto windows = tokenizer.encode_windows(inner); windows.size() == 1 && windows.front().ids == ids) {
    return inner;
  }
  std::string whole = tokenizer.decode(ids, false);
  if (tokenizer.encode(whole) != ids) {
    throw Error(ErrorKind::kArgument,
                concat(where, " has ids that are not what the tokeniser of ", quote(facts.name), " makes of any text"),
                "send texts, or ids of this tokeniser (in LangChain check_embedding_ctx_length=False)");
  }
  return whole;
}

std::vector<tasks::Document> documents_of_inputs(const ServedEmbedder& served, std::span<const server::Text> texts,
                                                 bool ids) {
  std::vector<tasks::Document> documents = named_documents(texts);
  for (tasks::Document& document : documents) {
    if (ids) {
      document.first = text_of_ids(*served.embedder.model.tokenizer, requests::ids_of_input(document.first),
                                   document.name, served.facts);
    }
  }
  return documents;
}

// Work whose results `result_of` takes from documents.
using DocumentResults = std::function<std::vector<Json>(tasks::Embedder&, std::span<const tasks::Document>)>;

server::Work embedding_work(const SharedEmbedder& served, std::string group, std::vector<server::Text> texts, bool ids,
                            DocumentResults results_of) {
  server::Work work{.group = std::move(group), .texts = std::move(texts)};
  work.compute = [served, ids, results_of = std::move(results_of)](std::span<const server::Text> given) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    const std::vector<tasks::Document> documents = documents_of_inputs(*served, given, ids);
    try {
      return results_of(served->embedder, documents);
    } catch (const tasks::TextTooLong& error) {
      refuse_length(error, "'truncate' cuts the text there");
    }
  };
  work.headers = requests::token_fields;
  return work;
}

server::Work vectors_work(const SharedEmbedder& served, std::vector<server::Text> texts, const VectorsWanted& wanted) {
  return embedding_work(served, group_of(*served, "embed", wanted), std::move(texts), wanted.ids,
                        [run = wanted.run](tasks::Embedder& embedder, std::span<const tasks::Document> documents) {
                          std::vector<Json> results;
                          for (const tasks::TextVector& one : tasks::embed_texts(embedder, documents, run)) {
                            results.push_back(requests::vector_result(one.vector, one.metadata));
                          }
                          return results;
                        });
}

Json all_vectors(const std::vector<Json>& results) {
  Json vectors = Json::array();
  for (const Json& result : results) {
    vectors.push_back(requests::vector_numbers(result));
  }
  return vectors;
}

server::Work embed_work(const SharedEmbedder& served, const Json& body) {
  requests::EmbedBody read = requests::read_embed_body(body, served->facts);
  VectorsWanted wanted = wanted_of(*served, read.inputs, read.options);
  wanted.run.request.normalize = read.normalize;
  wanted.run.request.dimensions = read.dimensions;
  const server::Cost cost = requests::embed_cost(read.inputs.texts, read.dimensions.value_or(served->facts.width));
  server::Work work = vectors_work(served, std::move(read.inputs.texts), wanted);
  work.cost = cost;
  work.finish = all_vectors;
  return work;
}

server::Work embeddings_work(const SharedEmbedder& served, const Json& body) {
  requests::EmbeddingsRequest read = requests::read_embeddings_request(body, served->facts);
  VectorsWanted wanted = wanted_of(*served, read.inputs, {.prompt_name = read.prompt_name});
  wanted.run.request.normalize = true;
  wanted.run.request.dimensions = read.dimensions;
  const std::int64_t width = read.dimensions.value_or(served->facts.width);
  const server::Cost cost =
      read.base64 ? requests::base64_cost(read.inputs.texts, width) : requests::embed_cost(read.inputs.texts, width);
  server::Work work = vectors_work(served, std::move(read.inputs.texts), wanted);
  work.cost = cost;
  work.finish = [name = served->facts.name, base64 = read.base64](const std::vector<Json>& results) {
    return requests::embeddings_answer(name, results, base64);
  };
  return work;
}

server::Work content_work(const SharedEmbedder& served, const Json& body) {
  requests::EmbedInputs inputs = requests::read_content(body, served->facts);
  VectorsWanted wanted = wanted_of(*served, inputs, {});
  wanted.run.request.normalize = true;
  const server::Cost cost = requests::embed_cost(inputs.texts, served->facts.width);
  server::Work work = vectors_work(served, std::move(inputs.texts), wanted);
  work.cost = cost;
  work.finish = [](const std::vector<Json>& results) { return requests::content_answer(results); };
  return work;
}

server::Work similarity_work(const SharedEmbedder& served, const Json& body) {
  requests::SimilarityBody read = requests::read_similarity_body(body, served->facts);
  const VectorsWanted wanted = wanted_of(*served, {}, read.options);
  const server::Cost cost = requests::base64_cost(read.texts, served->facts.width);
  server::Work work = vectors_work(served, std::move(read.texts), wanted);
  work.cost = cost;
  work.finish = [function = served->embedder.recipe.similarity](const std::vector<Json>& results) {
    return requests::similarities(results, function);
  };
  return work;
}

// As the transformer gives them: no module, and no norm.
server::Work embed_all_work(const SharedEmbedder& served, const Json& body) {
  requests::EmbedBody read = requests::read_embed_all_body(body, served->facts);
  const VectorsWanted wanted = wanted_of(*served, read.inputs, read.options);
  const server::Cost cost =
      requests::token_vectors_cost(read.inputs.texts, served->embedder.model.model->config().output_size());
  server::Work work =
      embedding_work(served, group_of(*served, "embed_all", wanted), std::move(read.inputs.texts), wanted.ids,
                     [run = wanted.run](tasks::Embedder& embedder, std::span<const tasks::Document> documents) {
                       std::vector<Json> results;
                       for (tasks::TaskResult& one : tasks::embed_token_states(embedder, documents, run)) {
                         results.push_back(requests::counted_result(std::move(one.result), one.metadata));
                       }
                       return results;
                     });
  work.cost = cost;
  work.finish = [](const std::vector<Json>& results) {
    Json states = Json::array();
    for (const Json& result : results) {
      states.push_back(requests::plain_result(result));
    }
    return states;
  };
  return work;
}

// What `inputs` are says which of the two is meant.
server::Work root_work(const SharedEmbedder& served, const Json& body) {
  const auto inputs = body.find("inputs");
  return inputs != body.end() && inputs->is_object() ? similarity_work(served, body) : embed_work(served, body);
}

requests::EmbedderFacts facts_of(const std::string& name, const tasks::Embedder& embedder) {
  requests::EmbedderFacts facts{
      .name = name,
      .vocabulary = std::min(embedder.model.tokenizer->vocabulary_size(), embedder.model.rows),
      .width = tasks::width(embedder),
      .prompts = {}};
  for (const auto& [prompt, text] : embedder.recipe.prompts) {
    facts.prompts.push_back(prompt);
  }
  return facts;
}

Json embedding_info(const tasks::Embedder& embedder) {
  return {{"model_type", {{"embedding", {{"pooling", tasks::applied(embedder.recipe)["pooling"]}}}}},
          {"model_dtype", tasks::product_type(embedder.model)},
          {"max_input_length", embedder.model.maximum}};
}

}  // namespace

void add_embedding_tasks(ServedModel& model, const tasks::OpenTask& task, const checkpoint::OpenedModel& directory) {
  const auto served = std::make_shared<ServedEmbedder>(
      ServedEmbedder{.embedder = tasks::embedder_of(task.model, directory), .run = task.run, .facts = {}});
  served->embedder.model.name = quote(model.name);
  served->facts = facts_of(model.name, served->embedder);
  using MakeVectors = server::Work (*)(const SharedEmbedder&, const Json&);
  const auto answers = [&](MakeVectors make) -> BodyHandler {
    return [served, make](const Json& body) -> server::Answer { return make(served, body); };
  };
  const requests::EmbedderFacts& facts = served->facts;
  model.tasks["embed"] = {reads_body(answers(embed_work)), requests::embed_operation(facts)};
  model.shapes["embed_all"] = {reads_body(answers(embed_all_work)), requests::embed_all_operation(facts)};
  model.shapes["similarity"] = {reads_body(answers(similarity_work)), requests::similarity_operation(facts)};
  model.shapes["embedding"] = {reads_body(answers(content_work)), requests::content_operation(facts)};
  model.chosen["embeddings"] = {answers(embeddings_work), requests::embeddings_operation(facts)};
  if (!model.root) {
    server::Operation operation = requests::embed_operation(facts);
    const server::Operation other = requests::similarity_operation(facts);
    operation.summary = "What /embed answers, or where 'inputs' have a 'source_sentence' /similarity.";
    operation.body = server::any_schema({operation.body, other.body});
    operation.answer = server::any_schema({operation.answer, other.answer});
    model.root = ServedTask{reads_body(answers(root_work)), std::move(operation)};
    model.info = embedding_info(served->embedder);
  }
}

}  // namespace weft::service
