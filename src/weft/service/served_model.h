// SPDX-License-Identifier: Apache-2.0
// A model of `weft serve`: what it can do, each task as a handler of requests. The handlers share one model, which
// computes on one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "weft/checkpoint/open_model.h"
#include "weft/requests/request_body.h"
#include "weft/server/message.h"
#include "weft/server/operation.h"
#include "weft/tasks/encoder_settings.h"
#include "weft/tasks/sequences/sequence_model.h"
#include "weft/tasks/task_run.h"
#include "weft/tasks/text_too_long.h"
#include "weft/tasks/viewer/attention_view.h"

namespace weft::service {

/// A task: what answers its requests, and what the server says about it.
struct ServedTask {
  server::Handler handle;
  server::Operation operation;
};

/// The same for a path where the body's member "model" may say which model is meant: the body is read there.
using BodyHandler = std::function<server::Answer(const formats::Json& body)>;
struct ChosenTask {
  BodyHandler answer;
  server::Operation operation;
};

struct ServedModel {
  std::string name;  ///< in paths
  std::string kind;  ///< "encoder", "encoder-decoder", "decoder" or "store"
  std::map<std::string, ServedTask> tasks;
  std::map<std::string, ServedTask> shapes = {};  ///< tasks in shapes of other servers, by the last part of their paths
  std::map<std::string, ChosenTask> chosen = {};  ///< "embeddings" as OpenAI has it, "rerank" as Cohere does
  std::optional<ServedTask> root = {};            ///< what a client of text-embeddings-inference means by POST /
  formats::Json info = nullptr;              ///< for its GET /info: "model_type", "model_dtype", "max_input_length"
  std::string mask_token = {};               ///< of a tokeniser that has one
  std::optional<ServedTask> attention = {};  ///< shows where the model looks; absent where no layer can
  formats::Json languages = nullptr;         ///< of `translate`, as LibreTranslate lists them
  formats::Json memory = nullptr;            ///< account_json()
};

/// How models compute, and how much of them at once.
struct ServeSettings {
  tasks::EncoderRunConfig encoder;
  tasks::BatchLimits batch;  ///< open_served_model() says its tokens
};

/// Opens the weights of `directory`. Errors: those of tasks::open_task_model(), tasks::open_sequence_model() and
/// load_model(); kUnsupported for a model that neither reads, writes nor goes on with texts.
ServedModel open_served_model(const std::string& name, const checkpoint::OpenedModel& directory,
                              const ServeSettings& settings);

/// Errors of the handlers of `model`, which clients read, say its name in place of `path`.
void name_errors(ServedModel& model, const std::filesystem::path& path);

/// The tasks of an encoder's head, and `embed`.
ServedModel serve_encoder(const std::string& name, const checkpoint::OpenedModel& directory,
                          const ServeSettings& settings);
/// `embed` in all shapes of vectors: `embed_all`, `similarity`, `embedding` and `embeddings`; by the modules of
/// `directory`, where it has some. The weights are those of `task`.
void add_embedding_tasks(ServedModel& model, const tasks::OpenTask& task, const checkpoint::OpenedModel& directory);
/// `predict`: the labels of `classify`, in another shape.
void add_predict_task(ServedModel& model, const std::shared_ptr<tasks::OpenTask>& task);
/// `rerank`, of a cross-encoder.
void add_rerank_task(ServedModel& model, const std::shared_ptr<tasks::OpenTask>& task,
                     const checkpoint::OpenedModel& directory);
/// `generate`.
ServedModel serve_decoder(const std::string& name, const checkpoint::OpenedModel& directory,
                          const ServeSettings& settings);
/// An encoder-decoder, and how it is run.
struct ServedPair {
  tasks::SequenceModel model;
  tasks::RunOptions run;
};
/// `translate`, `summarize` and `align`.
ServedModel serve_encoder_decoder(const std::string& name, const checkpoint::OpenedModel& directory,
                                  const ServeSettings& settings);

/// POST {"inputs": {"text", "text_pair"}, "parameters": {"src_lang", "tgt_lang"}}: the words of a text and of its
/// translation that belong together, as `weft align` gives them.
ServedTask align_task(const std::string& name, const std::shared_ptr<ServedPair>& task);

/// Whether a model looks at a second text beside the first: an encoder-decoder needs its target.
enum class SecondText : std::uint8_t { kNone, kMayBe, kNeeded };
/// One of tasks::view_text(), view_document() and view_pair().
using ViewOfText = std::function<tasks::AttentionView(const tasks::Document&, const tasks::ViewOptions&)>;

/// POST {"inputs", "parameters": {"layers", "heads", "cells", "top"}}: the data of the page of `weft attention` for one
/// text. Nothing where no layer of `model` has weights to show. Errors of requests: those of `view_of`; kUnsupported
/// where no layer that was asked for has weights to show.
std::optional<ServedTask> attention_task(const torch::nn::Module& model, const std::string& name, SecondText second,
                                         ViewOfText view_of);

/// The texts as documents, named by their places.
std::vector<tasks::Document> named_documents(std::span<const server::Text> texts);

/// A handler that reads the body of its request as a JSON object.
server::Handler reads_body(BodyHandler answer);

/// The results without their metadata.
std::vector<formats::Json> plain_results(std::vector<tasks::TaskResult> results);

/// Throws HttpError 413 for a text that is longer than its model takes, in the words of a request: `advice` stands in
/// place of the flags of a command.
[[noreturn]] void refuse_length(const tasks::TextTooLong& error, const std::string& advice);

/// Work of one task, and what it costs: results as a list where the texts were one, else the only one. `cut` is the
/// member of a request that cuts texts which are too long, if there is one: errors name it in place of --truncate.
server::Work task_work(std::string group, requests::TextInputs inputs, const server::Cost& cost,
                       std::function<std::vector<tasks::TaskResult>(std::span<const tasks::Document>)> run,
                       const std::string& cut = {});

}  // namespace weft::service
